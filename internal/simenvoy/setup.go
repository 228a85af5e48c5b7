package simenvoy

import (
	"encoding/json"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"endpoint-breaker/internal/envoy"
	"endpoint-breaker/internal/sim"
)

// routeHeader chooses the route: in a scenario routes have names, and nothing else that a request
// could be matched by.
const routeHeader = "x-scenario-route"

// setup is the scenario's gateway.
func (p *Player) setup() (envoy.Setup, error) {
	listener, err := p.listener(p.scenario.Plugin)
	if err != nil {
		return envoy.Setup{}, err
	}
	setup := envoy.Setup{
		Workers: p.options.Workers, Listener: listener, OnLog: p.log.add,
		Endpoints: map[string][]string{},
		// As in virtual time, requests of an old configuration go on as long as the run.
		DrainTime: time.Duration(p.scenario.Duration) + time.Minute,
	}
	for _, c := range p.scenario.Clusters {
		made, err := cluster(c)
		if err != nil {
			return envoy.Setup{}, err
		}
		setup.Clusters = append(setup.Clusters, made)
		setup.Endpoints[c.Name] = p.endpoints.addresses(c.Name)
	}
	return setup, nil
}

// cluster speaks HTTP/2, so that requests that wait for ever are no connections of their own.
func cluster(c sim.Cluster) (*clusterv3.Cluster, error) {
	made := envoy.EDSCluster(c.Name)
	if c.Balancer == "random" {
		made.LbPolicy = clusterv3.Cluster_RANDOM
	}
	// As in Higress: unhealthy endpoints are not asked, however few are left.
	made.CommonLbConfig = &clusterv3.Cluster_CommonLbConfig{HealthyPanicThreshold: &typev3.Percent{Value: 0}}
	return envoy.HTTP2(made)
}

// listener is the gateway's entry under a configuration of the plugin.
func (p *Player) listener(plugin json.RawMessage) (*listenerv3.Listener, error) {
	breaker := envoy.Breaker{Wasm: p.options.Wasm, Configuration: string(scaled(plugin, p.options.Scale))}
	filters, err := breaker.Filters()
	if err != nil {
		return nil, err
	}
	listener, err := envoy.NewListener(p.routes(), filters...)
	if err != nil {
		return nil, err
	}
	err = envoy.EditManager(listener, func(m *hcmv3.HttpConnectionManager) {
		// All requests of a worker share one connection, also those that wait for ever.
		m.Http2ProtocolOptions = &corev3.Http2ProtocolOptions{MaxConcurrentStreams: wrapperspb.UInt32(2 * maxInFlight)}
	})
	return listener, err
}

func (p *Player) routes() *routev3.RouteConfiguration {
	var hosts []*routev3.VirtualHost
	byDomain := map[string]*routev3.VirtualHost{}
	for _, r := range p.scenario.Routes {
		domain := strings.ToLower(r.Domain)
		host := byDomain[domain]
		if host == nil {
			host = &routev3.VirtualHost{Name: domain, Domains: []string{domain}}
			byDomain[domain] = host
			hosts = append(hosts, host)
		}
		host.Routes = append(host.Routes, p.route(r))
	}
	return envoy.Routes(hosts...)
}

func (p *Player) route(r sim.Route) *routev3.Route {
	made := envoy.Route(r.Name, "/", r.Cluster)
	made.GetRoute().Timeout = durationpb.New(time.Duration(r.Timeout) / time.Duration(p.options.Scale))
	made.Match.Headers = []*routev3.HeaderMatcher{{
		Name: routeHeader,
		HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: &matcherv3.StringMatcher{
			MatchPattern: &matcherv3.StringMatcher_Exact{Exact: r.Name},
		}},
	}}
	return made
}
