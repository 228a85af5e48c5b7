package envoy

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// StaticCluster returns a cluster with fixed endpoints, "ip:port": round robin, HTTP/1.1, a second
// to connect, and no limits that a test of load could meet. Envoy refuses it when an address is
// malformed.
func StaticCluster(name string, addresses ...string) *clusterv3.Cluster {
	c := newCluster(name, clusterv3.Cluster_STATIC)
	c.LoadAssignment = &endpointv3.ClusterLoadAssignment{
		ClusterName: name,
		Endpoints:   []*endpointv3.LocalityLbEndpoints{Locality(0, addresses...)},
	}
	return c
}

// EDSCluster is like StaticCluster, but its endpoints come from Setup.Endpoints and SetEndpoints.
func EDSCluster(name string) *clusterv3.Cluster {
	return newCluster(name, clusterv3.Cluster_EDS)
}

// HTTP2 makes a cluster speak HTTP/2 without TLS to its endpoints, as gRPC needs, and returns it.
func HTTP2(c *clusterv3.Cluster) (*clusterv3.Cluster, error) {
	options, err := typed(&httpv3.HttpProtocolOptions{
		UpstreamProtocolOptions: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_{
			ExplicitHttpConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig{
				ProtocolConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
					Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
				},
			},
		},
	})
	if err != nil {
		return nil, err
	}
	if c.TypedExtensionProtocolOptions == nil {
		c.TypedExtensionProtocolOptions = map[string]*anypb.Any{}
	}
	c.TypedExtensionProtocolOptions["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"] = options
	return c, nil
}

// Locality returns endpoints, "ip:port", of one priority, for a cluster's LoadAssignment; priority
// 0 is the one that is used first.
func Locality(priority uint32, addresses ...string) *endpointv3.LocalityLbEndpoints {
	l := &endpointv3.LocalityLbEndpoints{Priority: priority}
	for _, a := range addresses {
		l.LbEndpoints = append(l.LbEndpoints, &endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: socketAddress(a)}},
		})
	}
	return l
}

func newCluster(name string, discovery clusterv3.Cluster_DiscoveryType) *clusterv3.Cluster {
	const unlimited = 1 << 20
	limits := func(p corev3.RoutingPriority) *clusterv3.CircuitBreakers_Thresholds {
		return &clusterv3.CircuitBreakers_Thresholds{
			Priority:           p,
			MaxConnections:     wrapperspb.UInt32(unlimited),
			MaxPendingRequests: wrapperspb.UInt32(unlimited),
			MaxRequests:        wrapperspb.UInt32(unlimited),
			MaxRetries:         wrapperspb.UInt32(unlimited),
		}
	}
	return &clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: discovery},
		ConnectTimeout:       durationpb.New(time.Second),
		LbPolicy:             clusterv3.Cluster_ROUND_ROBIN,
		CircuitBreakers: &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{
			limits(corev3.RoutingPriority_DEFAULT), limits(corev3.RoutingPriority_HIGH),
		}},
	}
}

// assignment is the cluster's endpoints as EDS delivers them.
func (c *edsCluster) assignment(addresses []string) (*endpointv3.ClusterLoadAssignment, error) {
	for _, a := range addresses {
		if _, err := netip.ParseAddrPort(a); err != nil {
			return nil, fmt.Errorf("an endpoint of %s: got %q, want ip:port: %w", c.resource, a, err)
		}
	}
	return &endpointv3.ClusterLoadAssignment{
		ClusterName: c.resource,
		Endpoints:   []*endpointv3.LocalityLbEndpoints{Locality(0, addresses...)},
	}, nil
}

// statName is what a cluster is called in statistics.
func statName(c *clusterv3.Cluster) string {
	if c.GetAltStatName() != "" {
		return strings.ReplaceAll(c.GetAltStatName(), ":", "_")
	}
	return strings.ReplaceAll(c.GetName(), ":", "_")
}

// socketAddress turns "ip:port" into Envoy's form. What has no port is left for Envoy to refuse.
func socketAddress(address string) *corev3.Address {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		host = address
	}
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address:       host,
		PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(number)},
	}}}
}

func hostPort(a *corev3.Address) string {
	s := a.GetSocketAddress()
	return net.JoinHostPort(s.GetAddress(), strconv.FormatUint(uint64(s.GetPortValue()), 10))
}
