package wasmhost

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The code details of Envoy's Wasm filter (context.cc).
const (
	detailsClosed = "wasm_close_stream"
	detailsFailed = "wasm_fail_stream"
)

// LocalReply is an answer that comes from the filter and not from an upstream.
type LocalReply struct {
	StatusCode uint32  // as asked for; a gRPC request sees 200 and grpc-status
	Headers    Headers // as they go to the client, after the response callbacks
	Body       []byte  // likewise
	Details    string  // the response code details, spaces turned into underscores
	GRPCStatus int32   // as asked for; -1 = none
}

const (
	statusUnavailable = 503
	grpcUnavailable   = 14
	grpcUnset         = -1
)

// sendLocalReply answers the request. As Envoy does (sendLocalReply in
// source/common/http/filter_manager.cc): when no response has begun, the reply
// passes the response callbacks of all filters that have seen the request, the
// one that replies included; when response headers are on their way through the
// filters, it goes past them; when they have reached the client, all that is
// left is a reset.
func (e *Exchange) sendLocalReply(reply LocalReply) {
	if e.reply != nil || e.wasReset || e.closed {
		return
	}
	e.details = reply.Details
	client := &e.atClient().response
	if client.released {
		e.reset()
		return
	}
	headers, body := finishReply(e.requestHeaders(), reply)
	e.reply = &LocalReply{StatusCode: reply.StatusCode, Details: reply.Details, GRPCStatus: reply.GRPCStatus}
	if e.endRequests() {
		e.reply.Body = slices.Clone(body)
		client.replace(headers, body)
		return
	}
	first := &e.atUpstream().response
	first.takeHeaders(headers, len(body) == 0)
	if len(body) > 0 && !first.aborted {
		first.takeData(body, true)
	}
}

// endRequests lets nothing of the request go on, nor of a response that has
// begun, and tells whether one had.
func (e *Exchange) endRequests() (begun bool) {
	begun = e.atUpstream().response.started
	for _, s := range e.filters {
		s.request.aborted, s.response.aborted = true, begun
	}
	return begun
}

// fail answers 503 for a plugin that is dead under FailClose (failStream in
// Envoy's context.cc).
func (s *Stream) fail() {
	s.sendLocalReply(LocalReply{
		StatusCode: statusUnavailable, Details: detailsFailed, GRPCStatus: grpcUnavailable,
	})
}

// finishReply adds what Envoy adds to a local reply (prepareLocalReply in
// source/common/http/utility.cc).
func finishReply(request Headers, reply LocalReply) (Headers, []byte) {
	headers := Headers{{":status", strconv.Itoa(int(reply.StatusCode))}}
	headers = append(headers, reply.Headers...)
	if isGRPC(request) {
		return grpcReply(headers, reply), nil
	}
	if len(reply.Body) == 0 {
		headers.remove("content-length")
		headers.remove("content-type")
		return headers, nil
	}
	headers.replace("content-length", strconv.Itoa(len(reply.Body)))
	if _, found := headers.Get("content-type"); !found {
		headers.add("content-type", "text/plain")
	}
	if method, _ := request.Get(":method"); method == "HEAD" {
		return headers, nil
	}
	return headers, slices.Clone(reply.Body)
}

// grpcReply is headers only: the status and the message are in them.
func grpcReply(headers Headers, reply LocalReply) Headers {
	headers.replace(":status", "200")
	headers.replace("content-type", "application/grpc")
	if _, found := headers.Get("grpc-status"); !found {
		code := reply.GRPCStatus
		if code == grpcUnset {
			code = grpcStatusOf(reply.StatusCode)
		}
		headers.add("grpc-status", strconv.Itoa(int(code)))
	}
	if len(reply.Body) > 0 {
		headers.replace("grpc-message", string(reply.Body))
	}
	headers.remove("content-length")
	return headers
}

// grpcStatusOf maps an HTTP status as gRPC's own specification does
// (doc/http-grpc-status-mapping.md).
func grpcStatusOf(code uint32) int32 {
	switch code {
	case 400:
		return 13
	case 401:
		return 16
	case 403:
		return 7
	case 404:
		return 12
	case 429, 502, 503, 504:
		return grpcUnavailable
	default:
		return 2
	}
}

func isGRPC(request Headers) bool {
	contentType, _ := request.Get("content-type")
	return contentType == "application/grpc" || strings.HasPrefix(contentType, "application/grpc+")
}

// underscoreSpaces does to code details what Envoy does: they must be one word
// in an access log.
func underscoreSpaces(details string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, details)
}
