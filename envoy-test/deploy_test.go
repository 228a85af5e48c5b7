package envoytest

import (
	"os"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"sigs.k8s.io/yaml"

	"endpoint-breaker/internal/envoy"
)

// deployed is deploy/envoy.yaml, as Envoy would read it.
func deployed(t *testing.T) *bootstrapv3.Bootstrap {
	t.Helper()
	text, err := os.ReadFile("../deploy/envoy.yaml")
	require.NoError(t, err)
	asJSON, err := yaml.YAMLToJSON(text)
	require.NoError(t, err)
	var bootstrap bootstrapv3.Bootstrap
	require.NoError(t, protojson.Unmarshal(asJSON, &bootstrap), "an unknown field is refused, too")
	require.NoError(t, bootstrap.ValidateAll())
	return &bootstrap
}

func deployedManager(t *testing.T) *hcmv3.HttpConnectionManager {
	t.Helper()
	listeners := deployed(t).GetStaticResources().GetListeners()
	require.Len(t, listeners, 1)
	var manager hcmv3.HttpConnectionManager
	require.NoError(t, listeners[0].GetFilterChains()[0].GetFilters()[0].GetTypedConfig().UnmarshalTo(&manager))
	return &manager
}

// deployedPlugin is what it says to the plugin, and where the plugin is.
func deployedPlugin(t *testing.T) envoy.Breaker {
	t.Helper()
	for _, filter := range deployedManager(t).GetHttpFilters() {
		if filter.GetName() != envoy.WasmFilter {
			continue
		}
		var wasm wasmfilterv3.Wasm
		require.NoError(t, filter.GetTypedConfig().UnmarshalTo(&wasm))
		var configuration wrapperspb.StringValue
		require.NoError(t, wasm.GetConfig().GetConfiguration().UnmarshalTo(&configuration))
		return envoy.Breaker{
			Wasm:          wasm.GetConfig().GetVmConfig().GetCode().GetLocal().GetFilename(),
			Configuration: configuration.GetValue(),
		}
	}
	t.Fatal("deploy/envoy.yaml has no filter " + envoy.WasmFilter)
	return envoy.Breaker{}
}

// What these tests prove about the filters holds for what users deploy.
func TestTheDeployedFiltersAreTheOnesThatAreTested(t *testing.T) {
	t.Parallel()
	tested, err := deployedPlugin(t).Filters()
	require.NoError(t, err)
	filters := deployedManager(t).GetHttpFilters()
	require.Len(t, filters, len(tested)+1, "and the router")
	for i, want := range tested {
		got := filters[i]
		assert.Equal(t, want.GetName(), got.GetName())
		assert.True(t, proto.Equal(unpacked(t, want), unpacked(t, got)), "%s: %s is deployed, %s is tested",
			got.GetName(), protojson.Format(got), protojson.Format(want))
	}
}

func unpacked(t *testing.T, filter *hcmv3.HttpFilter) proto.Message {
	t.Helper()
	config, err := filter.GetTypedConfig().UnmarshalNew()
	require.NoError(t, err)
	return config
}

func TestThePluginAcceptsTheDeployedConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{configuration: deployedPlugin(t).Configuration})
	w.get()
	line, err := w.envoy.WaitForLog(t.Context(), "config accepted")
	require.NoError(t, err)
	assert.Contains(t, line.Message, "mode=enforce slow_threshold=1m10s")
}
