package wasmhost

func grpcFunctions() []hostFunction {
	return []hostFunction{
		{"proxy_grpc_call", []kind{text, text, text, text, text, number, out}, grpcCall},
		{"proxy_grpc_stream", []kind{text, text, text, text, out}, grpcStream},
		{"proxy_grpc_send", []kind{number, text, number}, grpcSend},
		{"proxy_grpc_close", []kind{number}, grpcClose},
		{"proxy_grpc_cancel", []kind{number}, grpcCancel},
		{"proxy_get_status", []kind{out, outBytes}, getStatus},
	}
}

func grpcCall(c *call) Status { return c.openGRPC(6, false) }

func grpcStream(c *call) Status { return c.openGRPC(4, true) }

// openGRPC starts a call or a stream to a cluster, which finds no connection:
// proxy_on_grpc_close follows with the status "unavailable". A service that
// names no known cluster is a service description that cannot be parsed
// (Context::grpcCall in Envoy's context.cc).
func (c *call) openGRPC(tokenAt int, isStream bool) Status {
	if _, known := c.worker.plugin.options.Clusters[c.text(0)]; !known {
		return StatusParseFailure
	}
	token := c.worker.expect(answer{
		callback: onGRPCClose, isStream: isStream, code: grpcUnavailable, message: errRefused.Error(),
	}, grpcUnavailable)
	return c.put(tokenAt, token)
}

// grpcSend wants a stream: a call has sent its one message. It changes nothing
// for a stream that is about to fail.
func grpcSend(c *call) Status {
	waiting := c.worker.waiting(onGRPCClose, c.number(0))
	switch {
	case waiting == nil:
		return StatusNotFound
	case !waiting.isStream:
		return StatusBadArgument
	default:
		return StatusOK
	}
}

// grpcClose cancels a call, and ends the guest's side of a stream, which fails
// all the same (Context::grpcClose in Envoy's context.cc).
func grpcClose(c *call) Status {
	waiting := c.worker.waiting(onGRPCClose, c.number(0))
	if waiting != nil && waiting.isStream {
		return StatusOK
	}
	return grpcCancel(c)
}

// grpcCancel ends a call or a stream; its callback does not come any more.
func grpcCancel(c *call) Status {
	if !c.worker.forget(onGRPCClose, c.number(0)) {
		return StatusNotFound
	}
	return StatusOK
}

// getStatus gives the code of the plugin context's last call that failed,
// whatever has succeeded since, and its message while that call's callback runs.
func getStatus(c *call) Status {
	code := uint32(0)
	if root := c.worker.currentRoot(); root != nil {
		code = root.statusCode
	}
	if status := c.put(0, code); status != StatusOK {
		return status
	}
	if c.worker.answer == nil {
		return c.give(1, nil)
	}
	return c.give(1, []byte(c.worker.answer.message))
}
