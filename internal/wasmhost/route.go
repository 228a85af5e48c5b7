package wasmhost

import "encoding/json"

// Route is where a request goes, as the router knows it.
type Route struct {
	Name    string // property route_name
	Cluster string // property cluster_name
	// Hosts is asked at each proxy_get_upstream_hosts, on the worker's goroutine.
	// Nil means a cluster without hosts.
	Hosts func() []Host
}

// RouteTable finds the route for a request by its headers, which it must not
// keep. It runs on the worker's goroutine.
type RouteTable func(request Headers) (route Route, found bool)

// FixedRoute is a table in which every request has that route.
func FixedRoute(r Route) RouteTable {
	return func(Headers) (Route, bool) { return r, true }
}

// Host is one endpoint of a cluster.
type Host struct {
	Address string // as Envoy prints it: 10.0.0.7:8000, [2001:db8::7]:8000
	Health  string // "Healthy", "Unhealthy", "Degraded", …; "" leaves the field out
	Metrics string // the endpoint's metrics as Prometheus text
}

func (r Route) hosts() []Host {
	if r.Hosts == nil {
		return nil
	}
	return r.Hosts()
}

// pair gives the host as Higress hands it out: the address and a JSON object.
func (h Host) pair() [2]string {
	value, err := json.Marshal(struct {
		Health  string `json:"health_status,omitempty"`
		Metrics string `json:"metrics"`
	}{h.Health, h.Metrics})
	if err != nil {
		panic(err) // two strings always marshal
	}
	return [2]string{h.Address, string(value)}
}
