package wasmhost

// mapType says which header map a call is about.
type mapType uint32

const (
	mapRequestHeaders mapType = iota
	mapRequestTrailers
	mapResponseHeaders
	mapResponseTrailers
	mapGRPCInitialMetadata
	mapGRPCTrailingMetadata
	mapHTTPCallResponseHeaders
	mapHTTPCallResponseTrailers
	mapTypes // how many there are
)

func headerFunctions() []hostFunction {
	return []hostFunction{
		{"proxy_get_header_map_value", []kind{number, text, outBytes}, getHeader},
		{"proxy_add_header_map_value", []kind{number, text, text}, addHeader},
		{"proxy_replace_header_map_value", []kind{number, text, text}, replaceHeader},
		{"proxy_remove_header_map_value", []kind{number, text}, removeHeader},
		{"proxy_get_header_map_pairs", []kind{number, outBytes}, getHeaders},
		{"proxy_set_header_map_pairs", []kind{number, text}, setHeaders},
		{"proxy_get_header_map_size", []kind{number, out}, getHeadersSize},
	}
}

// getHeader answers StatusBadArgument when the map is not open now, and
// StatusNotFound when it is open and has no such header.
func getHeader(c *call) Status {
	which := mapType(c.number(0))
	if which >= mapTypes {
		return StatusBadArgument
	}
	headers, open := c.openMap(which)
	if !open {
		if stream := c.worker.currentStream(); stream != nil && stream.logging {
			return StatusNotFound
		}
		return StatusBadArgument
	}
	value, found := headers.Get(c.text(1))
	if !found {
		return StatusNotFound
	}
	return c.give(2, []byte(value))
}

// getHeaders gives no bytes, and StatusOK, for a map that is not open.
func getHeaders(c *call) Status {
	which := mapType(c.number(0))
	if which >= mapTypes {
		return StatusBadArgument
	}
	headers, _ := c.openMap(which)
	if len(headers) == 0 {
		return c.give(1, nil)
	}
	return c.give(1, encodePairs(headers))
}

func addHeader(c *call) Status {
	return c.changeMap(func(h *Headers) { h.add(c.text(1), c.text(2)) })
}

func replaceHeader(c *call) Status {
	return c.changeMap(func(h *Headers) { h.replace(c.text(1), c.text(2)) })
}

func removeHeader(c *call) Status {
	return c.changeMap(func(h *Headers) { h.remove(c.text(1)) })
}

func setHeaders(c *call) Status {
	return c.changeMap(func(h *Headers) { *h = Headers(decodePairs(c.bytes(1))).clone() })
}

// getHeadersSize asks for a map that can be written, as Envoy's
// getHeaderMapSize does: the access log's maps have no size.
func getHeadersSize(c *call) Status {
	stream := c.worker.currentStream()
	if stream == nil {
		return StatusBadArgument
	}
	headers := stream.mutableMap(mapType(c.number(0)))
	if headers == nil {
		return StatusBadArgument
	}
	return c.put(1, uint32(headers.byteSize()))
}

// openMap finds a map for reading. Which maps are open when is Envoy's rule
// (getConstMap in source/extensions/common/wasm/context.cc): during the log
// phase the access logger's maps, else those that a callback has left open.
func (c *call) openMap(which mapType) (Headers, bool) {
	switch which {
	case mapHTTPCallResponseHeaders:
		return c.worker.httpAnswer().headers, c.worker.httpAnswer().isHTTP
	case mapHTTPCallResponseTrailers:
		return c.worker.httpAnswer().trailers, len(c.worker.httpAnswer().trailers) > 0
	}
	stream := c.worker.currentStream()
	if stream == nil {
		return nil, false
	}
	request, response := &stream.request, &stream.response
	switch which {
	case mapRequestHeaders:
		return request.headers, request.headersOpen || stream.logging && request.headers != nil
	case mapRequestTrailers:
		return request.trailers, request.trailersOpen && !stream.logging
	case mapResponseHeaders:
		return response.headers, response.headersOpen || stream.logging && response.started
	case mapResponseTrailers:
		return response.trailers, response.trailersOpen || stream.logging && response.hasTrailers
	default:
		return nil, false
	}
}

// changeMap changes a map that is open. A change of request headers clears the
// route cache unless the plugin has switched that off.
func (c *call) changeMap(change func(*Headers)) Status {
	which := mapType(c.number(0))
	stream := c.worker.currentStream()
	if stream == nil {
		return StatusBadArgument
	}
	headers := stream.mutableMap(which)
	if headers == nil {
		return StatusBadArgument
	}
	change(headers)
	if which == mapRequestHeaders && !stream.keepRoute {
		stream.routeCleared = true
		stream.clearRoute()
	}
	return StatusOK
}

// mutableMap finds a map for writing; nil when it is not open. A callback for
// the last piece of a body may add trailers that were not there.
func (s *Stream) mutableMap(which mapType) *Headers {
	switch which {
	case mapRequestHeaders:
		return s.request.openHeaders()
	case mapRequestTrailers:
		return s.request.openTrailers()
	case mapResponseHeaders:
		return s.response.openHeaders()
	case mapResponseTrailers:
		return s.response.openTrailers()
	default:
		return nil
	}
}
