package wasmhost

// iteration says whether a direction of a stream moves on through the filter.
type iteration int

const (
	iterating     iteration = iota
	stoppedSingle           // later pieces still come to the filter
	stoppedAll              // later pieces wait in front of the filter
)

// What a callback may return (FilterHeadersStatus, FilterDataStatus and
// FilterTrailersStatus of proxy-wasm-cpp-host, by number).
const (
	verdictContinue  = 0
	headersStop      = 1
	headersEndStream = 2 // Envoy's Wasm filter takes it for continue
	headersStopAll   = 3 // and 4, which differs in how the codec is throttled
	dataBuffer       = 1
	dataWatermark    = 2
	dataNoBuffer     = 3
)

// half is one direction of a stream on its way through the filter. It follows
// Envoy's filter manager (source/common/http/filter_manager.cc: commonContinue
// and the commonHandleAfter… functions) with this filter alone in the chain.
type half struct {
	stream                                      *Stream
	next                                        *half // of the next filter; nil: the router, or the client
	headersCallback, dataCallback, trailersCall string

	headers, trailers         Headers
	headersOpen, trailersOpen bool // the guest may read and write the map
	chunk                     []byte
	chunkOpen, lastPiece      bool

	state        iteration
	started      bool // the headers have come in
	released     bool // the headers have left the filter
	complete     bool // the last piece has come in
	hasTrailers  bool
	trailersLeft bool
	aborted      bool // a local reply or a reset has ended it

	held         []byte
	holding      bool // held is to be passed on, maybe empty
	accumulating bool // the guest sees all that is held, not the last chunk alone

	out               []byte // body that has left the last filter and nobody has taken
	ended             bool   // the last piece has left the filter
	bytesIn, bytesOut uint64
}

// enter brings the headers to the filter, which is created by a request's.
func (h *half) enter(headers Headers, end bool) {
	if h.isRequest() {
		h.stream.create()
	}
	h.takeHeaders(headers, end)
}

func (h *half) isRequest() bool { return h == &h.stream.request }

func (h *half) takeHeaders(headers Headers, end bool) {
	h.started, h.complete, h.lastPiece = true, end, end
	h.headers, h.headersOpen = headers.clone(), true
	verdict := h.stream.callback(h.headersCallback, uint64(len(headers)), flag(end))
	if h.aborted {
		return
	}
	switch {
	case verdict.stopped || verdict.value >= headersStopAll:
		h.state = stoppedAll
	case verdict.value == headersStop:
		h.state = stoppedSingle
	default: // verdictContinue, headersEndStream
		h.headersOpen = false
		h.releaseHeaders(end)
	}
}

func (h *half) takeData(data []byte, end bool) {
	h.bytesIn += uint64(len(data))
	h.complete = h.complete || end
	if h.state == stoppedAll {
		h.hold(data)
		return
	}
	h.filterData(data, end)
}

// filterData shows the guest one chunk, or all that is held when it has asked
// to buffer before. (Up to Envoy 1.32 the newest chunk was missing then:
// envoyproxy/envoy issue 36227. Higress 2.2 has 1.36.)
func (h *half) filterData(data []byte, end bool) {
	h.lastPiece = end
	inHeld, hadTrailers := h.accumulating, h.hasTrailers
	if inHeld {
		h.hold(data)
	} else {
		h.chunk, h.chunkOpen = append([]byte(nil), data...), true
	}
	verdict := h.stream.callback(h.dataCallback, h.visible(), flag(end))
	if h.aborted {
		return
	}
	piece := h.chunk
	h.chunk, h.chunkOpen, h.accumulating = nil, false, false
	if verdict.stopped || verdict.value != verdictContinue {
		h.stopData(piece, inHeld, verdict)
		return
	}
	if h.state == stoppedSingle {
		if !inHeld {
			h.hold(piece)
		}
		h.resume()
		return
	}
	added := h.hasTrailers && !hadTrailers
	h.pass(piece, end && !added)
	if added {
		h.passTrailers()
	}
}

// stopData keeps or drops the piece, as the guest has said.
func (h *half) stopData(piece []byte, inHeld bool, verdict outcome) {
	h.state = stoppedSingle
	buffer := !verdict.stopped && verdict.value == dataBuffer
	keep := buffer || !verdict.stopped && verdict.value == dataWatermark
	h.accumulating = buffer
	switch {
	case inHeld:
	case keep:
		h.hold(piece)
	case h.complete && !h.hasTrailers:
		h.hold(nil) // so that a later resume ends the stream
	}
}

func (h *half) takeTrailers(trailers Headers) {
	h.hasTrailers, h.complete = true, true
	h.trailers = trailers.clone()
	if h.state == stoppedAll {
		return
	}
	h.filterTrailers()
}

func (h *half) filterTrailers() {
	h.trailersOpen = true
	verdict := h.stream.callback(h.trailersCall, uint64(len(h.trailers)))
	if h.aborted {
		return
	}
	if verdict.stopped || verdict.value != verdictContinue {
		h.state = stoppedSingle
		return
	}
	h.trailersOpen = false
	if h.state == stoppedSingle {
		h.resume()
		return
	}
	h.passTrailers()
}

// resume lets everything go on that is held. What waited in front of the filter
// comes to it now.
func (h *half) resume() {
	if !h.started || h.aborted || h.stream.closed {
		return
	}
	fromHere := h.state == stoppedAll
	h.state, h.accumulating = iterating, false
	trailers := h.hasTrailers && !h.trailersLeft
	h.releaseHeaders(h.complete && !h.holding && !trailers)
	if h.holding && !h.aborted {
		data := h.held
		h.held, h.holding = nil, false
		if fromHere {
			h.filterData(data, h.complete && !trailers)
		} else {
			h.pass(data, h.complete && !trailers)
		}
	}
	if !trailers || h.aborted {
		return
	}
	if fromHere {
		h.filterTrailers()
		return
	}
	h.passTrailers()
}

// inject puts body bytes behind the filter, past its callbacks.
func (h *half) inject(data []byte, end bool) {
	if !h.started || h.aborted || h.stream.closed {
		return
	}
	h.releaseHeaders(false)
	h.pass(data, end)
}

func (h *half) hold(data []byte) {
	h.held, h.holding = append(h.held, data...), true
}

func (h *half) releaseHeaders(end bool) {
	if h.released {
		return
	}
	h.released = true
	h.ended = h.ended || end
	switch {
	case h.next != nil:
		h.next.enter(h.headers, end)
	case h.isRequest():
		h.stream.reachRouter()
	}
}

func (h *half) pass(data []byte, end bool) {
	if h.ended || h.aborted {
		return
	}
	h.bytesOut += uint64(len(data))
	h.ended = end
	if h.next != nil {
		h.next.takeData(data, end)
		return
	}
	h.out = append(h.out, data...)
	if reply := h.stream.reply; reply != nil {
		reply.Body = append(reply.Body, data...)
	}
}

func (h *half) passTrailers() {
	if h.trailersLeft || h.aborted {
		return
	}
	h.trailersLeft, h.ended = true, true
	if h.next != nil {
		h.next.takeTrailers(h.trailers)
	}
}

// replace hands the client a whole response in place of the one that is still
// on its way.
func (h *half) replace(headers Headers, body []byte) {
	h.aborted, h.started, h.released, h.ended = true, true, true, true
	h.headers, h.out = headers, append(h.out, body...)
	h.bytesOut += uint64(len(body))
}

// take hands out the body that has left the filter since the last time.
func (h *half) take() (data []byte, ended bool) {
	data, h.out = h.out, nil
	return data, h.ended
}

// openBody is the body that the guest can see now; nil for none.
func (h *half) openBody() *[]byte {
	switch {
	case h.accumulating:
		return &h.held
	case h.chunkOpen:
		return &h.chunk
	default:
		return nil
	}
}

// visible is the size of that body.
func (h *half) visible() uint64 {
	if body := h.openBody(); body != nil {
		return uint64(len(*body))
	}
	return 0
}

func (h *half) openHeaders() *Headers {
	if !h.headersOpen {
		return nil
	}
	return &h.headers
}

// openTrailers makes trailers when the guest can see the last piece of a body
// that has none, buffered or not (getMap in Envoy's context.cc, which calls
// addDecodedTrailers).
func (h *half) openTrailers() *Headers {
	if !h.trailersOpen && h.openBody() != nil && h.lastPiece && !h.hasTrailers {
		h.hasTrailers, h.trailersOpen = true, true
	}
	if !h.trailersOpen {
		return nil
	}
	return &h.trailers
}

// closeMaps is what proxy_continue_stream does to the request's side. Trailers
// cannot be added any more either.
func (h *half) closeMaps() {
	h.headersOpen, h.chunkOpen, h.trailersOpen, h.lastPiece = false, false, false, false
}

func (h *half) flow() Flow {
	switch {
	case h.stream.wasReset:
		return FlowReset
	case h.stream.reply != nil:
		return FlowReplied
	case h.state != iterating:
		return FlowStopped
	default:
		return FlowContinue
	}
}

func flag(set bool) uint64 {
	if set {
		return 1
	}
	return 0
}
