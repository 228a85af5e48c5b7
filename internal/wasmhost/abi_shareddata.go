package wasmhost

func sharedDataFunctions() []hostFunction {
	return []hostFunction{
		{"proxy_get_shared_data", []kind{text, outBytes, out}, getSharedData},
		{"proxy_set_shared_data", []kind{text, text, number}, setSharedData},
	}
}

func getSharedData(c *call) Status {
	value, cas, status := c.worker.plugin.shared.Get(c.text(0))
	if status != StatusOK {
		return status
	}
	if status := c.give(1, value); status != StatusOK {
		return status
	}
	return c.put(2, cas)
}

func setSharedData(c *call) Status {
	return c.worker.plugin.shared.Set(c.text(0), c.bytes(1), c.number(2))
}
