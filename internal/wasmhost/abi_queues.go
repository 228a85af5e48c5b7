package wasmhost

// Shared queues are not there at all, and say so.
func queueFunctions() []hostFunction {
	return []hostFunction{
		{"proxy_register_shared_queue", []kind{text, out}, noQueues},
		{"proxy_resolve_shared_queue", []kind{text, text, out}, noQueues},
		{"proxy_dequeue_shared_queue", []kind{number, outBytes}, noQueues},
		{"proxy_enqueue_shared_queue", []kind{number, text}, noQueues},
	}
}

func noQueues(*call) Status { return StatusUnimplemented }
