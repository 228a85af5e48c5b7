package wasmhost

func grpcFunctions() []hostFunction {
	return []hostFunction{
		{"proxy_grpc_call", []kind{text, text, text, text, text, number, out}, grpcCall},
		{"proxy_grpc_stream", []kind{text, text, text, text, out}, grpcStream},
		{"proxy_grpc_send", []kind{number, text, number}, grpcSend},
		{"proxy_grpc_close", []kind{number}, grpcSend},
		{"proxy_grpc_cancel", []kind{number}, grpcCancel},
		{"proxy_get_status", []kind{out, outBytes}, getStatus},
	}
}

func grpcCall(c *call) Status { return c.openGRPC(6) }

func grpcStream(c *call) Status { return c.openGRPC(4) }

// openGRPC starts a call or a stream to a cluster, which finds no connection:
// proxy_on_grpc_close follows with the status "unavailable". A service that
// names no known cluster is a service description that cannot be parsed
// (Context::grpcCall in Envoy's context.cc).
func (c *call) openGRPC(tokenAt int) Status {
	if _, known := c.worker.plugin.options.Clusters[c.text(0)]; !known {
		return StatusParseFailure
	}
	token := c.worker.expect(answer{
		callback: onGRPCClose, code: grpcUnavailable, message: errRefused.Error(),
	}, grpcUnavailable)
	return c.put(tokenAt, token)
}

// grpcSend also ends the guest's side of a stream: it changes nothing for one
// that is about to fail.
func grpcSend(c *call) Status {
	for _, a := range c.worker.pending {
		if a.callback == onGRPCClose && a.args[0] == uint64(c.number(0)) {
			return StatusOK
		}
	}
	return StatusNotFound
}

// grpcCancel ends a call; its callback does not come any more.
func grpcCancel(c *call) Status {
	if !c.worker.forget(onGRPCClose, c.number(0)) {
		return StatusNotFound
	}
	return StatusOK
}

// getStatus gives the code of the last call that failed, and its message while
// that call's callback runs.
func getStatus(c *call) Status {
	if status := c.put(0, c.worker.statusCode); status != StatusOK {
		return status
	}
	if c.worker.answer == nil {
		return c.give(1, nil)
	}
	return c.give(1, []byte(c.worker.answer.message))
}
