package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm"
	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm/types"
)

// responseDetails returns Envoy's words for who made the response of the current stream, or
// how the stream has ended; empty if this Envoy has none.
func responseDetails() (string, error) {
	details, err := property("response", "code_details")
	return string(details), err
}

// currentAttempt returns who has the request of the current stream, or has had it last. An Envoy
// that knows no attempt count is believed to have made one attempt.
func currentAttempt() (attempt, error) {
	address, err := property("upstream", "address")
	if err != nil || len(address) == 0 {
		return attempt{}, err
	}
	number, known, err := number("upstream", "request_attempt_count")
	if err != nil || !known {
		return attempt{endpoint: string(address), number: 1}, err
	}
	return attempt{endpoint: string(address), number: number}, nil
}

// lastAttemptTook returns how long the last attempt took, from its first byte to the last byte of
// the answer. Envoy knows it when the stream has ended; older ones never do.
func lastAttemptTook() (took time.Duration, known bool, err error) {
	nanoseconds, known, err := number("response", "backend_latency")
	return time.Duration(nanoseconds), known, err //nolint:gosec // a duration, never negative
}

// number reads an attribute that is a number, or a duration in nanoseconds.
func number(path ...string) (value uint64, known bool, err error) {
	raw, err := property(path...)
	if err != nil || len(raw) == 0 {
		return 0, false, err
	}
	if len(raw) != 8 {
		return 0, false, fmt.Errorf("property %s: got %d bytes, want 8", strings.Join(path, "."), len(raw))
	}
	return binary.LittleEndian.Uint64(raw), true, nil
}

// header reads a header by one of the SDK's functions; empty if it is not there.
func header(get func(string) (string, error), name string) (string, error) {
	value, err := get(name)
	if errors.Is(err, types.ErrorStatusNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("header %s: %w", name, err)
	}
	return value, nil
}

// property reads one of Envoy's attributes; nil if this Envoy or this stream does not have it.
func property(path ...string) ([]byte, error) {
	value, err := proxywasm.GetProperty(path)
	if errors.Is(err, types.ErrorStatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("property %s: %w", strings.Join(path, "."), err)
	}
	return value, nil
}
