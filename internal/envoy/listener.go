package envoy

import (
	"fmt"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	uuidv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/request_id/uuid/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const managerName = "envoy.filters.network.http_connection_manager"

// NewListener returns a listener on a free port of 127.0.0.1 that handles requests as a gateway
// does: HTTP/1.1, HTTP/2 by prior knowledge, WebSocket upgrades, no timeout of its own, and a
// request id, which a client may bring along as x-request-id. The router is added behind the
// filters. Its statistics are "http.ingress.…".
func NewListener(routes *routev3.RouteConfiguration, filters ...*hcmv3.HttpFilter) (*listenerv3.Listener, error) {
	manager, err := connectionManager(routes, filters)
	if err != nil {
		return nil, err
	}
	config, err := typed(manager)
	if err != nil {
		return nil, err
	}
	return &listenerv3.Listener{
		Name:    "ingress",
		Address: socketAddress("127.0.0.1:0"),
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name:       managerName,
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: config},
		}}}},
	}, nil
}

// EditManager changes the HTTP connection manager of a listener made by NewListener.
func EditManager(l *listenerv3.Listener, edit func(*hcmv3.HttpConnectionManager)) error {
	config := l.GetFilterChains()[0].GetFilters()[0].GetTypedConfig()
	var manager hcmv3.HttpConnectionManager
	if err := config.UnmarshalTo(&manager); err != nil {
		return fmt.Errorf("the listener's connection manager: %w", err)
	}
	edit(&manager)
	return config.MarshalFrom(&manager)
}

func connectionManager(routes *routev3.RouteConfiguration, filters []*hcmv3.HttpFilter) (*hcmv3.HttpConnectionManager, error) {
	router, err := filter("envoy.filters.http.router", &routerv3.Router{})
	if err != nil {
		return nil, err
	}
	access, err := accessLog()
	if err != nil {
		return nil, err
	}
	// A request id that comes in goes out as it is, without marks of tracing.
	requestID, err := typed(&uuidv3.UuidRequestIdConfig{PackTraceReason: wrapperspb.Bool(false)})
	if err != nil {
		return nil, err
	}
	return &hcmv3.HttpConnectionManager{
		StatPrefix:                "ingress",
		CodecType:                 hcmv3.HttpConnectionManager_AUTO,
		RouteSpecifier:            &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: routes},
		HttpFilters:               append(filters[:len(filters):len(filters)], router),
		AccessLog:                 access,
		UseRemoteAddress:          wrapperspb.Bool(true),
		GenerateRequestId:         wrapperspb.Bool(true),
		PreserveExternalRequestId: true,
		RequestIdExtension:        &hcmv3.RequestIDExtension{TypedConfig: requestID},
		StreamIdleTimeout:         durationpb.New(0),
		UpgradeConfigs:            []*hcmv3.HttpConnectionManager_UpgradeConfig{{UpgradeType: "websocket"}},
	}, nil
}

func filter(name string, config proto.Message) (*hcmv3.HttpFilter, error) {
	packed, err := typed(config)
	if err != nil {
		return nil, err
	}
	return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed}}, nil
}

func typed(config proto.Message) (*anypb.Any, error) {
	packed, err := anypb.New(config)
	if err != nil {
		return nil, fmt.Errorf("configuration for Envoy: %w", err)
	}
	return packed, nil
}
