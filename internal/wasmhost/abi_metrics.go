package wasmhost

func metricFunctions() []hostFunction {
	return []hostFunction{
		{"proxy_define_metric", []kind{number, text, out}, defineMetric},
		{"proxy_increment_metric", []kind{number, long}, incrementMetric},
		{"proxy_record_metric", []kind{number, long}, recordMetric},
		{"proxy_get_metric", []kind{number, out}, getMetric},
	}
}

func defineMetric(c *call) Status {
	id, status := c.worker.plugin.metrics.define(MetricType(c.number(0)), c.text(1))
	if status != StatusOK {
		return status
	}
	return c.put(2, id)
}

func incrementMetric(c *call) Status {
	return c.worker.plugin.metrics.increment(c.number(0), int64(c.long(1)))
}

func recordMetric(c *call) Status {
	return c.worker.plugin.metrics.record(c.number(0), c.long(1))
}

func getMetric(c *call) Status {
	value, status := c.worker.plugin.metrics.get(c.number(0))
	if status != StatusOK {
		return status
	}
	return c.putLong(1, value)
}
