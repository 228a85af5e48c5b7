package envoy

import (
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Routes returns a routing table for NewListener.
func Routes(hosts ...*routev3.VirtualHost) *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{Name: "routes", VirtualHosts: hosts}
}

// AnyHost returns a virtual host for requests to whatever domain, called "any". A routing table
// takes one; for other domains change Name and Domains.
func AnyHost(routes ...*routev3.Route) *routev3.VirtualHost {
	return &routev3.VirtualHost{Name: "any", Domains: []string{"*"}, Routes: routes}
}

// Route returns a route by path prefix, without a timeout and without retries. The first route of
// a virtual host that fits is used.
func Route(name, prefix, cluster string) *routev3.Route {
	return &routev3.Route{
		Name:  name,
		Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: prefix}},
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{
			ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster},
			Timeout:          durationpb.New(0),
		}},
	}
}
