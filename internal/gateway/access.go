package gateway

import "time"

// Access is what an access log would say about one request. All times are
// Clock.Monotonic, the plugin's own clock; zero = it never came to that.
type Access struct {
	Worker    int
	RequestID string // the x-request-id header, made up when the client sent none
	// Host is where the router put the request; "" = nowhere. Overridden tells
	// whether the plugin had chosen it.
	Host       string
	Overridden bool
	Status     int    // what the client got; 0 = nothing
	Details    string // response code details, as Envoy words them
	Flags      uint64 // response flags, Envoy's bits

	HeadersBegan time.Duration // before the plugin's callback for the request headers
	HeadersEnded time.Duration // after it
	Placed       time.Duration // the router chose the host
	Answered     time.Duration // the response headers came
	Done         time.Duration
}

// Response code details and flags as Envoy has them
// (https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/response_code_details
// and .../advanced/attributes, response.flags).
const (
	detailsViaUpstream       = "via_upstream"
	detailsNoHealthyUpstream = "no_healthy_upstream"
	detailsConnectFailure    = "upstream_reset_before_response_started{remote_connection_failure}"
	detailsResetBefore       = "upstream_reset_before_response_started{connection_termination}"
	detailsResetAfter        = "upstream_reset_after_response_started{connection_termination}"
	detailsClientLeft        = "downstream_remote_disconnect"
	detailsPluginReset       = "wasm_close_stream"

	flagNoHealthyUpstream     = 0x2
	flagConnectFailure        = 0x20
	flagUpstreamReset         = 0x40
	flagDownstreamTermination = 0x4000
)
