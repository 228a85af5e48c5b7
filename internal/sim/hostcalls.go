package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// hostCall is what a fault may do with one call of the ABI. wasmhost has the calls
// themselves; a test compares both.
type hostCall struct {
	argument bool // it has a text that a fault can be limited to
	bytes    bool // it hands bytes to the plugin, which can be junk
}

// hostCalls are the calls that a plugin can make, by their names.
func hostCalls() map[string]hostCall {
	return map[string]hostCall{
		"proxy_add_header_map_value":                {argument: true},
		"proxy_call_foreign_function":               {argument: true, bytes: true},
		"proxy_close_stream":                        {},
		"proxy_continue_stream":                     {},
		"proxy_define_metric":                       {argument: true},
		"proxy_dequeue_shared_queue":                {bytes: true},
		"proxy_done":                                {},
		"proxy_enqueue_shared_queue":                {argument: true},
		"proxy_get_buffer_bytes":                    {bytes: true},
		"proxy_get_buffer_status":                   {},
		"proxy_get_current_time_nanoseconds":        {},
		"proxy_get_header_map_pairs":                {bytes: true},
		"proxy_get_header_map_size":                 {},
		"proxy_get_header_map_value":                {argument: true, bytes: true},
		"proxy_get_log_level":                       {},
		"proxy_get_metric":                          {},
		"proxy_get_property":                        {argument: true, bytes: true},
		"proxy_get_shared_data":                     {argument: true, bytes: true},
		"proxy_get_status":                          {bytes: true},
		"proxy_get_upstream_hosts":                  {bytes: true},
		"proxy_grpc_call":                           {argument: true},
		"proxy_grpc_cancel":                         {},
		"proxy_grpc_close":                          {},
		"proxy_grpc_send":                           {argument: true},
		"proxy_grpc_stream":                         {argument: true},
		"proxy_http_call":                           {argument: true},
		"proxy_increment_metric":                    {},
		"proxy_inject_encoded_data_to_filter_chain": {argument: true},
		"proxy_log":                                 {argument: true},
		"proxy_record_metric":                       {},
		"proxy_redis_call":                          {argument: true},
		"proxy_redis_init":                          {argument: true},
		"proxy_register_shared_queue":               {argument: true},
		"proxy_remove_header_map_value":             {argument: true},
		"proxy_replace_header_map_value":            {argument: true},
		"proxy_resolve_shared_queue":                {argument: true},
		"proxy_send_local_response":                 {argument: true},
		"proxy_set_buffer_bytes":                    {argument: true},
		"proxy_set_effective_context":               {},
		"proxy_set_header_map_pairs":                {argument: true},
		"proxy_set_property":                        {argument: true},
		"proxy_set_shared_data":                     {argument: true},
		"proxy_set_tick_period_milliseconds":        {},
		"proxy_set_upstream_override_host":          {argument: true},
	}
}

// callbacks are the calls that the host makes into the plugin.
func callbacks() []string {
	return []string{
		"proxy_on_configure", "proxy_on_context_create", "proxy_on_delete", "proxy_on_done",
		"proxy_on_grpc_close", "proxy_on_http_call_response", "proxy_on_log",
		"proxy_on_redis_call_response", "proxy_on_request_body", "proxy_on_request_headers",
		"proxy_on_request_trailers", "proxy_on_response_body", "proxy_on_response_headers",
		"proxy_on_response_trailers", "proxy_on_tick", "proxy_on_vm_start",
	}
}

// callsThat lists the host calls that have a property, in the order of their names.
func callsThat(have func(hostCall) bool) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(hostCalls())) {
		if have(hostCalls()[name]) {
			names = append(names, name)
		}
	}
	return names
}

func handBytes(c hostCall) bool { return c.bytes }

func haveArgument(c hostCall) bool { return c.argument }

// knownCall refuses what is neither a host call nor a callback: it would never happen.
func knownCall(name string) error {
	known := slices.Concat(slices.Sorted(maps.Keys(hostCalls())), callbacks())
	if slices.Contains(known, name) {
		return nil
	}
	if name == "" {
		return errors.New("is missing; should be a call of the ABI, such as proxy_set_shared_data")
	}
	return fmt.Errorf("given %q; should be a call of the ABI; the nearest is %s", name, nearest(name, known))
}

// nearest is the known name that takes the fewest edits to get to. Of a very long one the
// beginning is enough.
func nearest(name string, known []string) string {
	name = name[:min(len(name), 100)]
	return slices.MinFunc(known, func(a, b string) int { return edits(name, a) - edits(name, b) })
}

// edits counts the characters to insert, delete or replace between two texts (Levenshtein).
func edits(from, to string) int {
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(from) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(to) {
			replaced := diagonal
			if from[i] != to[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(to)]
}
