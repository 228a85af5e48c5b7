//go:build envoy

package main

import "strings"

// connectionFailed reads Envoy's words for a request that no connection could be made for.
func connectionFailed(details string) bool {
	cause, found := strings.CutPrefix(details, "upstream_reset_before_response_started{")
	return found && (strings.Contains(cause, "connection_failure") || strings.Contains(cause, "connection_timeout"))
}
