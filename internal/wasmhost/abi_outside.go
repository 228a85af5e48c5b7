package wasmhost

// The embedded host has no clusters beside the one that a stream is routed to,
// so a call to the outside gets what Envoy answers for a cluster that it does
// not know. Shared queues are not there at all, and say so.

func outsideFunctions() []hostFunction {
	return []hostFunction{
		{"proxy_http_call", []kind{text, text, text, text, number, out}, unknownCluster},
		{"proxy_redis_init", []kind{text, text, text, number}, unknownCluster},
		{"proxy_redis_call", []kind{text, text, out}, unknownCluster},
		{"proxy_grpc_call", []kind{text, text, text, text, text, number, out}, unknownGRPCService},
		{"proxy_grpc_stream", []kind{text, text, text, text, out}, unknownGRPCService},
		{"proxy_grpc_send", []kind{number, text, number}, noSuchCall},
		{"proxy_grpc_close", []kind{number}, noSuchCall},
		{"proxy_grpc_cancel", []kind{number}, noSuchCall},
		{"proxy_get_status", []kind{out, outBytes}, getStatus},
		{"proxy_register_shared_queue", []kind{text, out}, noQueues},
		{"proxy_resolve_shared_queue", []kind{text, text, out}, noQueues},
		{"proxy_dequeue_shared_queue", []kind{number, outBytes}, noQueues},
		{"proxy_enqueue_shared_queue", []kind{number, text}, noQueues},
	}
}

func unknownCluster(*call) Status { return StatusBadArgument }

// unknownGRPCService is the answer to a service that names no known cluster.
func unknownGRPCService(*call) Status { return StatusParseFailure }

// noSuchCall: without a call or stream there is nothing to send to or to end.
func noSuchCall(*call) Status { return StatusNotFound }

// getStatus gives the status of the last gRPC call, which is 0 and no message
// when there was none.
func getStatus(c *call) Status {
	if status := c.put(0, 0); status != StatusOK {
		return status
	}
	return c.give(1, nil)
}

func noQueues(*call) Status { return StatusUnimplemented }
