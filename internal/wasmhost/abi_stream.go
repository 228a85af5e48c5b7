package wasmhost

// streamType says which direction of a stream, or which connection, a call is
// about.
type streamType uint32

const (
	streamRequest streamType = iota
	streamResponse
	streamDownstream
	streamUpstream
)

func streamFunctions() []hostFunction {
	return []hostFunction{
		{"proxy_continue_stream", []kind{number}, continueStream},
		{"proxy_close_stream", []kind{number}, closeStream},
		{"proxy_send_local_response", []kind{number, text, text, text, number}, sendLocalResponse},
		{"proxy_inject_encoded_data_to_filter_chain", []kind{text, number}, injectEncodedData},
	}
}

// continueStream takes effect when the callback has returned. As in Envoy's
// continueStream the maps and the body of the request are closed at once,
// whichever direction goes on.
func continueStream(c *call) Status {
	which := streamType(c.number(0))
	switch {
	case which == streamUpstream:
		return StatusUnimplemented
	case which > streamUpstream:
		return StatusBadArgument
	}
	stream := c.worker.currentStream()
	if stream == nil || which == streamDownstream {
		return StatusOK
	}
	direction := &stream.request
	if which == streamResponse {
		direction = &stream.response
	}
	c.worker.afterwards(direction.resume)
	stream.request.closeMaps()
	return StatusOK
}

// closeStream resets the stream when the callback has returned.
func closeStream(c *call) Status {
	which := streamType(c.number(0))
	if which > streamUpstream {
		return StatusBadArgument
	}
	stream := c.worker.currentStream()
	if stream == nil || which > streamResponse {
		return StatusOK
	}
	if stream.details == "" {
		stream.details = detailsClosed
	}
	c.worker.afterwards(stream.reset)
	return StatusOK
}

// sendLocalResponse always answers StatusOK and stops the callback's stream,
// whatever that callback returns; only the first reply of a stream is sent.
func sendLocalResponse(c *call) Status {
	c.worker.stopIteration = true
	stream := c.worker.currentStream()
	if stream == nil || stream.replyAsked {
		return StatusOK
	}
	stream.replyAsked = true
	reply := LocalReply{
		StatusCode: c.number(0),
		Details:    underscoreSpaces(c.text(1)),
		Body:       c.bytes(2),
		Headers:    Headers(decodePairs(c.bytes(3))).clone(),
		GRPCStatus: int32(c.number(4)),
	}
	c.worker.afterwards(func() { stream.sendLocalReply(reply) })
	return StatusOK
}

// injectEncodedData sends body bytes to the client, past this filter, when the
// callback has returned.
func injectEncodedData(c *call) Status {
	stream := c.worker.currentStream()
	if stream == nil {
		return StatusOK
	}
	data, end := c.bytes(0), c.number(1) != 0
	c.worker.afterwards(func() { stream.response.inject(data, end) })
	return StatusOK
}
