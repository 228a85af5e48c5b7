package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Envoy's words, as 1.40 has them.
func TestWhoEndedARequest(t *testing.T) {
	for details, want := range map[string]ending{
		"via_upstream":                         endedByEndpoint,
		"":                                     endedByEndpoint,
		"response_timeout":                     endedByTimeout,
		"upstream_max_stream_duration_reached": endedElsewhere, // an upload may have used it up
		"upstream_per_try_timeout":             endedByTryTimeout,
		"upstream_per_try_idle_timeout":        endedByTryTimeout,
		"downstream_remote_disconnect":         endedByClient,
		"http2.remote_reset":                   endedByClient,
		"stream_idle_timeout":                  endedElsewhere,
		"direct_response":                      endedElsewhere,
		"no_healthy_upstream":                  endedElsewhere,
		"fault_filter_abort":                   endedElsewhere,
		"overload":                             endedElsewhere,
		"upstream_reset_before_response_started{overflow}": endedElsewhere,
	} {
		assert.Equal(t, want, endingOf(details), details)
	}
}
