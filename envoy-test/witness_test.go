package envoytest

import (
	"encoding/base64"
	"net/http"
	"slices"
	"testing"
	"time"

	mutationrulesv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"endpoint-breaker/internal/backend"
	"endpoint-breaker/internal/envoy"
)

// lasting is a configuration whose blocks outlive each test.
const lasting = `{"slow_threshold":"1500ms","dedup_window":"0s","confirm_window":"30s","block_ttl":"10m","check_interval":"100ms"}`

// runWitnessed is runNeighbours with a witness behind the plugin.
func runWitnessed(t *testing.T, s setup, neighbours ...neighbour) {
	t.Helper()
	around := s.filters
	s.filters = func(breaker []*hcmv3.HttpFilter) []*hcmv3.HttpFilter {
		filters := withWitness(t, breaker)
		if around != nil {
			filters = around(filters)
		}
		return filters
	}
	runNeighbours(t, s, neighbours...)
}

// askedHeader tells which host the plugin had asked for.
const askedHeader = "X-Asked-Host"

// withWitness puts a filter behind the plugin that copies what it asks for into askedHeader, of
// the request and of the response.
func withWitness(t *testing.T, breaker []*hcmv3.HttpFilter) []*hcmv3.HttpFilter {
	t.Helper()
	note := func(source string) []*mutationrulesv3.HeaderMutation {
		return []*mutationrulesv3.HeaderMutation{{Action: &mutationrulesv3.HeaderMutation_Append{
			Append: &corev3.HeaderValueOption{
				Header:       &corev3.HeaderValue{Key: askedHeader, Value: "%REQ(" + source + ")%"},
				AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
			},
		}}}
	}
	witness := httpFilter(t, "witness", &mutationv3.HeaderMutation{Mutations: &mutationv3.Mutations{
		RequestMutations: note(envoy.HostHeader), ResponseMutations: note(askedHeader),
	}})
	plugin := slices.IndexFunc(breaker, func(f *hcmv3.HttpFilter) bool { return f.GetName() == envoy.WasmFilter })
	return slices.Insert(slices.Clone(breaker), plugin+1, witness)
}

func httpFilter(t *testing.T, name string, configuration proto.Message) *hcmv3.HttpFilter {
	t.Helper()
	return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(t, configuration)}}
}

func packed(t *testing.T, configuration proto.Message) *anypb.Any {
	t.Helper()
	result, err := anypb.New(configuration)
	require.NoError(t, err)
	return result
}

// way is where a request went.
type way struct {
	asked  string // the host that the plugin asked for; "" = it left the choice to Envoy
	served string // the host that answered; "" = none
	status int
	took   time.Duration
	ended  time.Time
}

// obeyed tells that the plugin asked for the host, and Envoy took it.
func (y way) obeyed(host string) bool { return y.asked == host && y.served == host }

// passedOver tells that Envoy did not take the host that the plugin asked for.
func (y way) passedOver() bool { return y.asked != "" && y.asked != y.served }

// try sends a request and tells where it went.
func (w *world) try(headers ...string) way {
	w.t.Helper()
	r := w.send(http.MethodGet, "/v1/models", nil, headers...)
	require.NoError(w.t, r.err)
	address, err := base64.StdEncoding.DecodeString(r.headers.Get(askedHeader))
	require.NoError(w.t, err)
	return way{asked: w.nameOf(string(address)), served: r.host, status: r.status, took: r.took, ended: time.Now()}
}

// ways sends n requests one after another, each of which must be answered with 200.
func (w *world) ways(n int, headers ...string) ways {
	w.t.Helper()
	var all ways
	for range n {
		y := w.try(headers...)
		require.Equal(w.t, http.StatusOK, y.status)
		all = append(all, y)
	}
	return all
}

type ways []way

// served tells how many of the requests each host has answered.
func (all ways) served() map[string]int { return all.count(func(y way) string { return y.served }) }

// asked tells how many of the requests the plugin has sent to each host; "" = to none.
func (all ways) asked() map[string]int { return all.count(func(y way) string { return y.asked }) }

func (all ways) count(of func(way) string) map[string]int {
	counts := map[string]int{}
	for _, y := range all {
		counts[of(y)]++
	}
	return counts
}

// slower tells how many of the requests took so long.
func (all ways) slower(than time.Duration) int {
	n := 0
	for _, y := range all {
		if y.took >= than {
			n++
		}
	}
	return n
}

// until sends requests, each of which must be answered with 200, up to one that went such a way.
func (w *world) until(what string, went func(way) bool) ways {
	w.t.Helper()
	var all ways
	w.eventually(what, func() bool {
		all = append(all, w.ways(1)...)
		return went(all[len(all)-1])
	})
	return all
}

// setHosts makes these the hosts of the cluster.
func (w *world) setHosts(hosts ...*backend.Server) {
	w.t.Helper()
	var addresses []string
	for _, h := range hosts {
		addresses = append(addresses, h.Address())
	}
	require.NoError(w.t, w.envoy.SetEndpoints(w.t.Context(), w.cluster, addresses...))
}

// blockBy makes the host slow in some way until it is blocked. From then on it is as usual, except
// that the requests which wait for it go on waiting.
func (w *world) blockBy(host *backend.Server, slow http.Handler) {
	w.t.Helper()
	host.Serve(slow)
	stop := w.background(12, 20*time.Millisecond)
	w.blockOf(host)
	host.Serve(backend.Usual())
	go stop()
}
