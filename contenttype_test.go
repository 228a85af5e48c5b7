package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhichContentTypesAreMeasuredAtTheFirstChunk(t *testing.T) {
	for contentType, want := range map[string]bool{
		"text/event-stream":                  true,
		"Text/Event-Stream; charset=utf-8":   true,
		"text/event-stream;charset=utf-8":    true,
		" text/event-stream ":                true,
		"application/x-ndjson":               true,
		"application/grpc":                   true,
		"application/grpc+proto":             true,
		"application/grpc-web-text":          true,
		"APPLICATION/GRPC":                   true,
		"application/json":                   false,
		"text/event-streams":                 false,
		"text/plain; x=text/event-stream":    false,
		"application/json, application/grpc": false,
		"":                                   false,
	} {
		assert.Equal(t, want, streams(contentType), "%q", contentType)
	}
}
