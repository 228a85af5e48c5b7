package wasmhost

import (
	"encoding/binary"
	"time"
)

func pluginFunctions() []hostFunction {
	return []hostFunction{
		{"proxy_log", []kind{number, text}, logMessage},
		{"proxy_get_log_level", []kind{out}, getLogLevel},
		{"proxy_get_current_time_nanoseconds", []kind{out}, getCurrentTime},
		{"proxy_set_tick_period_milliseconds", []kind{number}, setTickPeriod},
		{"proxy_set_effective_context", []kind{number}, setEffectiveContext},
		{"proxy_done", nil, done},
		{"proxy_call_foreign_function", []kind{text, text, outBytes}, callForeignFunction},
	}
}

func logMessage(c *call) Status {
	level := LogLevel(c.number(0))
	if level > LogCritical {
		return StatusBadArgument
	}
	c.worker.log(level, FromPlugin, c.text(1))
	return StatusOK
}

func getLogLevel(c *call) Status { return c.put(0, uint32(c.worker.plugin.logLevel)) }

func getCurrentTime(c *call) Status {
	return c.putLong(0, uint64(c.worker.plugin.options.Clock.Wall().UnixNano()))
}

// setTickPeriod belongs to the plugin context, also when a stream calls it; 0
// ends the ticks.
func setTickPeriod(c *call) Status {
	if root := c.worker.currentRoot(); root != nil {
		root.period = time.Duration(c.number(0)) * time.Millisecond
	}
	return StatusOK
}

// setEffectiveContext holds until the callback returns. 0 goes back to the
// context that was called.
func setEffectiveContext(c *call) Status {
	id := c.number(0)
	if id != 0 && !c.worker.knows(id) {
		return StatusBadArgument
	}
	c.worker.effective = id
	return StatusOK
}

// done ends a plugin context whose proxy_on_done had returned false.
func done(c *call) Status {
	root := c.worker.currentRoot()
	if root == nil || !root.pendingDone {
		return StatusNotFound
	}
	root.pendingDone = false
	c.worker.afterwards(func() { c.worker.deleteRoot(root) })
	return StatusOK
}

// callForeignFunction knows get_log_level, which Higress' logger asks for.
func callForeignFunction(c *call) Status {
	if name := c.text(0); name != "get_log_level" {
		c.worker.missing("foreign function " + name)
		return StatusNotFound
	}
	return c.give(2, binary.LittleEndian.AppendUint32(nil, uint32(c.worker.plugin.logLevel)))
}
