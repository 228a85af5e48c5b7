package main

import "strings"

// streams reports whether `measure: auto` times the answer by its first chunk: its headers may
// come long before the first token does.
func streams(contentType string) bool {
	return hasMediaType(contentType, "text/event-stream") ||
		hasMediaType(contentType, "application/x-ndjson") ||
		isGRPC(contentType)
}

// isGRPC covers application/grpc, application/grpc+proto, application/grpc-web and the like.
func isGRPC(contentType string) bool {
	const prefix = "application/grpc"
	return len(contentType) >= len(prefix) && strings.EqualFold(contentType[:len(prefix)], prefix)
}

// hasMediaType compares without regard to case and parameters.
func hasMediaType(contentType, mediaType string) bool {
	bare, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(bare), mediaType)
}
