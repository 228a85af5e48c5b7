package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm"
	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm/types"
)

// viaUpstream is Envoy's response code detail for an answer that an endpoint gave; any other
// names a reply that Envoy or a filter made.
const viaUpstream = "via_upstream"

// blame is the answer to whose sample it is (docs/design.md, Behavior 1, "Whose").
type blame uint8

const (
	blameUnknown blame = iota // a host call failed
	blameNobody               // no endpoint has had the request
	blameUnclear              // several attempts share the time, and nobody can say how
	blameEndpoint
)

// fromUpstream reports whether the response of the current stream is an endpoint's and not a
// reply that Envoy or another filter made. An Envoy that knows no details is believed to pass on.
func fromUpstream() (bool, error) {
	details, err := property("response", "code_details")
	return len(details) == 0 || string(details) == viaUpstream, err
}

// culprit returns the endpoint that the current stream's wait is owed to. An Envoy that knows
// no attempt count is believed to have made one attempt.
func culprit() (endpoint string, who blame, err error) {
	address, err := property("upstream", "address")
	if err != nil {
		return "", blameUnknown, err
	}
	if len(address) == 0 {
		return "", blameNobody, nil
	}
	attempts, err := property("upstream", "request_attempt_count")
	if err != nil {
		return "", blameUnknown, err
	}
	if len(attempts) > 0 && len(attempts) != 8 {
		return "", blameUnknown, fmt.Errorf("property upstream.request_attempt_count: got %d bytes, want 8", len(attempts))
	}
	if len(attempts) == 8 && binary.LittleEndian.Uint64(attempts) > 1 {
		return "", blameUnclear, nil
	}
	return string(address), blameEndpoint, nil
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
