package envoy_test

import (
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"testing"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	sessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"endpoint-breaker/internal/envoy"
)

func TestTheBreakersFiltersAreInTheDocumentedOrderAndTheRouterIsLast(t *testing.T) {
	filters, err := envoy.Breaker{}.Filters()
	require.NoError(t, err)
	l, err := envoy.NewListener(envoy.Routes(), filters...)
	require.NoError(t, err)
	var chain []*hcmv3.HttpFilter
	require.NoError(t, envoy.EditManager(l, func(m *hcmv3.HttpConnectionManager) { chain = m.GetHttpFilters() }))
	var names []string
	require.Len(t, chain, 5)
	for i, wanted := range []proto.Message{
		&mutationv3.HeaderMutation{}, &wasmfilterv3.Wasm{}, &sessionv3.StatefulSession{}, &mutationv3.HeaderMutation{}, &routerv3.Router{},
	} {
		require.NoError(t, chain[i].GetTypedConfig().UnmarshalTo(wanted))
		names = append(names, chain[i].GetName())
	}
	assert.Equal(t, []string{
		envoy.GuardFilter, envoy.WasmFilter, envoy.HostFilter, envoy.StripFilter, "envoy.filters.http.router",
	}, names)
}

func TestThePluginFailsOpenUnlessSaidOtherwise(t *testing.T) {
	plugin := func(b envoy.Breaker) *wasmv3.PluginConfig {
		filters, err := b.Filters()
		require.NoError(t, err)
		var wasm wasmfilterv3.Wasm
		require.NoError(t, filters[1].GetTypedConfig().UnmarshalTo(&wasm))
		return wasm.GetConfig()
	}
	shipped := plugin(envoy.Breaker{Wasm: "/plugin.wasm", Configuration: `{"mode": "observe"}`})
	assert.Equal(t, wasmv3.FailurePolicy_FAIL_RELOAD, shipped.GetFailurePolicy())
	assert.Equal(t, "/plugin.wasm", shipped.GetVmConfig().GetCode().GetLocal().GetFilename())
	assert.Empty(t, shipped.GetVmConfig().GetEnvironmentVariables().GetKeyValues())
	var configuration wrapperspb.StringValue
	require.NoError(t, shipped.GetConfiguration().UnmarshalTo(&configuration))
	assert.JSONEq(t, `{"mode": "observe"}`, configuration.GetValue())

	other := plugin(envoy.Breaker{FailurePolicy: wasmv3.FailurePolicy_FAIL_OPEN, Env: map[string]string{"A": "b"}})
	assert.Equal(t, wasmv3.FailurePolicy_FAIL_OPEN, other.GetFailurePolicy())
	assert.Equal(t, map[string]string{"A": "b"}, other.GetVmConfig().GetEnvironmentVariables().GetKeyValues())
}

// What stands around the plugin, tried with the plugin taken out.
func TestTheHostHeaderSteersOnlyBehindTheGuardAndStaysInside(t *testing.T) {
	filters, err := envoy.Breaker{}.Filters()
	require.NoError(t, err)
	guard, host, strip := filters[0], filters[2], filters[3]
	names := map[string]string{}
	var got collected[http.Header]
	for _, name := range []string{"a", "b", "c"} {
		names[serve(t, func(w http.ResponseWriter, r *http.Request) {
			got.add(r.Header)
			w.Header().Set("Answered-By", name)
		})] = name
	}
	addresses := slices.Collect(maps.Keys(names))
	routes := envoy.Routes(envoy.AnyHost(envoy.Route("all", "/", models)))
	chosen := base64.StdEncoding.EncodeToString([]byte(addresses[0]))
	ask := func(e *envoy.Envoy) (answeredBy map[string]int, header string) {
		answeredBy = map[string]int{}
		c := client(t)
		for range 9 {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.URL(), nil)
			require.NoError(t, err)
			request.Header.Set(envoy.HostHeader, chosen)
			response, err := c.Do(request)
			require.NoError(t, err)
			response.Body.Close()
			answeredBy[response.Header.Get("Answered-By")]++
			header += response.Header.Get(envoy.HostHeader)
		}
		return answeredBy, header
	}

	steered, err := envoy.NewListener(routes, host, strip)
	require.NoError(t, err)
	e := start(t, eds(envoy.Setup{Listener: steered}, addresses...))
	answeredBy, _ := ask(e)
	assert.Equal(t, map[string]int{names[addresses[0]]: 9}, answeredBy)

	guarded, err := envoy.NewListener(routes, guard, host, strip)
	require.NoError(t, err)
	require.NoError(t, e.SetListener(soon(t), guarded))
	answeredBy, header := ask(e)
	assert.Equal(t, map[string]int{"a": 3, "b": 3, "c": 3}, answeredBy)
	assert.Empty(t, header, "towards the client")
	for _, h := range got.get() {
		assert.Empty(t, h.Get(envoy.HostHeader), "towards the endpoint")
	}
}
