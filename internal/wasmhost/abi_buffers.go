package wasmhost

import "slices"

// bufferType says which buffer a call is about.
type bufferType uint32

const (
	bufferRequestBody          bufferType = 0
	bufferResponseBody         bufferType = 1
	bufferHTTPCallResponseBody bufferType = 4
	bufferVMConfiguration      bufferType = 6
	bufferPluginConfiguration  bufferType = 7
	bufferCallData             bufferType = 8
	bufferRedisCallResponse    bufferType = 9
	bufferTypes                bufferType = 10 // how many there are
)

func bufferFunctions() []hostFunction {
	return []hostFunction{
		{"proxy_get_buffer_bytes", []kind{number, number, number, outBytes}, getBuffer},
		{"proxy_set_buffer_bytes", []kind{number, number, number, text}, setBuffer},
		{"proxy_get_buffer_status", []kind{number, out, out}, getBufferStatus},
	}
}

func getBuffer(c *call) Status {
	content, status := c.buffer(bufferType(c.number(0)))
	if status != StatusOK {
		return status
	}
	start, end := uint64(c.number(1)), uint64(c.number(1))+uint64(c.number(2))
	size := uint64(len(content))
	return c.give(3, content[min(start, size):min(end, size)])
}

func getBufferStatus(c *call) Status {
	content, status := c.buffer(bufferType(c.number(0)))
	if status != StatusOK {
		return status
	}
	if status := c.put(1, uint32(len(content))); status != StatusOK {
		return status
	}
	return c.put(2, 0)
}

// buffer finds a buffer for reading. A body outside of its callbacks is empty,
// and the configuration is there only while the plugin is being configured
// (getBuffer in Envoy's context.cc).
func (c *call) buffer(which bufferType) ([]byte, Status) {
	switch which {
	case bufferRequestBody, bufferResponseBody:
		stream := c.worker.currentStream()
		if stream == nil {
			return nil, StatusOK
		}
		if body := stream.half(which).openBody(); body != nil {
			return *body, StatusOK
		}
		return nil, StatusOK
	case bufferPluginConfiguration:
		if c.worker.configuration == nil {
			return nil, StatusNotFound
		}
		return []byte(*c.worker.configuration), StatusOK
	case bufferRedisCallResponse:
		if c.worker.answer != nil {
			return c.worker.answer.redis, StatusOK
		}
		return nil, StatusOK
	case bufferVMConfiguration, bufferCallData:
		return nil, StatusOK
	case bufferHTTPCallResponseBody:
		if answer := c.worker.httpAnswer(); answer.isHTTP {
			return answer.body, StatusOK
		}
		return nil, StatusNotFound
	}
	if which >= bufferTypes {
		return nil, StatusBadArgument
	}
	return nil, StatusNotFound
}

// setBuffer can do what Envoy's buffers can: put before, put behind, and
// replace the whole.
func setBuffer(c *call) Status {
	which := bufferType(c.number(0))
	stream := c.worker.currentStream()
	if stream == nil || which > bufferResponseBody {
		return StatusBadArgument
	}
	body := stream.half(which).openBody()
	if body == nil {
		return StatusBadArgument
	}
	start, length, size := uint64(c.number(1)), uint64(c.number(2)), uint64(len(*body))
	data := c.bytes(3)
	switch {
	case start == 0 && length == 0:
		*body = slices.Concat(data, *body)
	case start == 0 && length >= size:
		*body = data
	case start != 0 && start >= size:
		*body = slices.Concat(*body, data)
	default:
		return StatusBadArgument
	}
	return StatusOK
}

func (s *Stream) half(which bufferType) *half {
	if which == bufferRequestBody {
		return &s.request
	}
	return &s.response
}
