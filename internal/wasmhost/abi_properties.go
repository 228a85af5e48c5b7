package wasmhost

import "strings"

func propertyFunctions() []hostFunction {
	return []hostFunction{
		{"proxy_get_property", []kind{text, outBytes}, getProperty},
		{"proxy_set_property", []kind{text, text}, setProperty},
	}
}

func getProperty(c *call) Status {
	path := strings.Split(c.text(0), "\x00")
	value, found := c.worker.property(path)
	if !found {
		if name := strings.Join(path, "."); unmodelled(name) {
			c.worker.missing("property " + name)
		}
		return StatusNotFound
	}
	return c.give(1, value)
}

// setProperty keeps the value with the stream, as Envoy does in the filter
// state. Without a stream there is nowhere to keep it.
func setProperty(c *call) Status {
	stream := c.worker.currentStream()
	if stream == nil {
		return StatusNotFound
	}
	path, value := c.text(0), c.bytes(1)
	if path == "clear_route_cache" {
		stream.keepRoute = string(value) == "off"
	}
	stream.state[path] = value
	return StatusOK
}
