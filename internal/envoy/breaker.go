package envoy

import (
	mutationrulesv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	sessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	headerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/header/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// HostHeader is the request header in which the plugin's build for a stock Envoy tells the
// stateful_session filter the endpoint: the base64 of "ip:port".
const HostHeader = "x-endpoint-breaker-host"

// Names of the filters, in their order.
const (
	GuardFilter = "endpoint-breaker-guard"
	WasmFilter  = "endpoint-breaker"
	HostFilter  = "endpoint-breaker-host"
	StripFilter = "endpoint-breaker-strip"
)

// Breaker is this project's plugin as a part of a listener.
type Breaker struct {
	// Wasm is the path of the build for a stock Envoy.
	Wasm string
	// Configuration is the plugin's, as JSON.
	Configuration string
	// FailurePolicy is what happens to requests when the VM has trapped; unspecified means
	// FAIL_RELOAD: the plugin is back with the next request.
	FailurePolicy wasmv3.FailurePolicy
	// Env is the environment of the VM.
	Env map[string]string
}

// Filters returns the chain that makes the plugin work: what clients send in HostHeader is removed,
// the plugin chooses, stateful_session obeys, and the header is removed again before the request
// goes on. The first filter is also the last to see a response, and keeps the header from clients
// when the plugin is out of order.
func (b Breaker) Filters() ([]*hcmv3.HttpFilter, error) {
	plugin, err := b.plugin()
	if err != nil {
		return nil, err
	}
	state, err := typed(&headerv3.HeaderBasedSessionState{Name: HostHeader})
	if err != nil {
		return nil, err
	}
	remove := []*mutationrulesv3.HeaderMutation{{Action: &mutationrulesv3.HeaderMutation_Remove{Remove: HostHeader}}}
	guard, err := filter(GuardFilter, &mutationv3.HeaderMutation{
		Mutations: &mutationv3.Mutations{RequestMutations: remove, ResponseMutations: remove},
	})
	if err != nil {
		return nil, err
	}
	wasm, err := filter(WasmFilter, &wasmfilterv3.Wasm{Config: plugin})
	if err != nil {
		return nil, err
	}
	host, err := filter(HostFilter, &sessionv3.StatefulSession{SessionState: &corev3.TypedExtensionConfig{
		Name: "envoy.http.stateful_session.header", TypedConfig: state,
	}})
	if err != nil {
		return nil, err
	}
	strip, err := filter(StripFilter, &mutationv3.HeaderMutation{
		Mutations: &mutationv3.Mutations{RequestMutations: remove},
	})
	if err != nil {
		return nil, err
	}
	return []*hcmv3.HttpFilter{guard, wasm, host, strip}, nil
}

func (b Breaker) plugin() (*wasmv3.PluginConfig, error) {
	configuration, err := typed(wrapperspb.String(b.Configuration))
	if err != nil {
		return nil, err
	}
	policy := b.FailurePolicy
	if policy == wasmv3.FailurePolicy_UNSPECIFIED {
		policy = wasmv3.FailurePolicy_FAIL_RELOAD
	}
	vm := &wasmv3.VmConfig{
		VmId:    "endpoint-breaker",
		Runtime: "envoy.wasm.runtime.v8",
		Code: &corev3.AsyncDataSource{Specifier: &corev3.AsyncDataSource_Local{
			Local: &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: b.Wasm}},
		}},
	}
	if len(b.Env) > 0 {
		vm.EnvironmentVariables = &wasmv3.EnvironmentVariables{KeyValues: b.Env}
	}
	return &wasmv3.PluginConfig{
		Name:          "endpoint-breaker",
		Vm:            &wasmv3.PluginConfig_VmConfig{VmConfig: vm},
		Configuration: configuration,
		FailurePolicy: policy,
	}, nil
}
