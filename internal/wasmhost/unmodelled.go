package wasmhost

import (
	"fmt"
	"strings"
)

// unmodelled tells whether Higress has a property that this host lacks. Any
// other name that is not found is one that no plugin has set, as on Higress
// (StreamActivation::FindValue in source/extensions/filters/common/expr, and the
// property tokens in its context.cc).
func unmodelled(property string) bool {
	for _, name := range [...]string{
		"source", "destination", "connection", "connection_id", "metadata", "filter_state", "upstream_filter_state",
		"node", "plugin_vm_id", "listener_direction", "listener_metadata",
		"cluster_metadata", "route_metadata", "upstream_host_metadata",
		"xds.cluster_metadata", "xds.route_metadata", "xds.upstream_host_metadata", "xds.filter_chain_name",
		"request.protocol", "response.trailers", "response.grpc_status", "response.backend_latency",
		"upstream.local_address", "upstream.transport_failure_reason", "upstream.tls_version",
	} {
		if rest, found := strings.CutPrefix(property, name); found && (rest == "" || rest[0] == '.') {
			return true
		}
	}
	return false
}

// missing says once in each VM's log that a "not found" is this host's own.
func (w *Worker) missing(what string) {
	if w.missed[what] {
		return
	}
	w.missed[what] = true
	w.log(LogWarn, FromHost, fmt.Sprintf("%s is not modelled", what))
}
