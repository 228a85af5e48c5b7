//go:build envoy

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhichFailuresAreFailedConnections(t *testing.T) {
	for details, want := range map[string]bool{
		"upstream_reset_before_response_started{remote_connection_failure|delayed_connect_error:_Connection_refused}": true,
		"upstream_reset_before_response_started{local_connection_failure}":                                            true,
		"upstream_reset_before_response_started{connection_timeout}":                                                  true,
		"upstream_reset_before_response_started{connection_termination}":                                              false,
		"upstream_reset_before_response_started{overflow}":                                                            false,
		"response_timeout":   false,
		"connection_failure": false,
		"via_upstream":       false,
		"":                   false,
	} {
		assert.Equal(t, want, connectionFailed(details), details)
	}
}
