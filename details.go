package main

import "strings"

// viaUpstream is Envoy's response code detail for an answer that an endpoint gave; any other
// names a reply that Envoy or a filter made, or how the stream broke off.
const viaUpstream = "via_upstream"

// ending says who ended a request, by Envoy's response code details.
type ending uint8

const (
	endedByEndpoint   ending = iota // it answered
	endedByTimeout                  // the time that the route gives was over
	endedByTryTimeout               // the time that the route gives to one attempt, the last one, was over
	endedByClient                   // the client has left
	endedElsewhere                  // Envoy or a filter replied, or a connection broke
)

// endingOf reads the details. An Envoy that knows none is believed to pass an answer on. A limit
// on the stream's duration (upstream_max_stream_duration_reached) is no timeout of the endpoint's:
// it runs during the upload, too.
func endingOf(details string) ending {
	switch details {
	case "", viaUpstream:
		return endedByEndpoint
	case "response_timeout":
		return endedByTimeout
	case "upstream_per_try_timeout", "upstream_per_try_idle_timeout":
		return endedByTryTimeout
	}
	if strings.HasPrefix(details, "downstream_") || strings.HasSuffix(details, ".remote_reset") {
		return endedByClient
	}
	return endedElsewhere
}
