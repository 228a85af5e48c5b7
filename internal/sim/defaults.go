package sim

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
)

// fillDefaults makes explicit what a file may leave out, so that everything
// behind it finds complete values.
func (s *Scenario) fillDefaults() error {
	if len(s.Workers) == 0 {
		s.Workers = WorkerCounts{1}
	}
	endpoints := 0
	err := eachOf(s.Clusters, func(c *Cluster) error {
		err := c.fillDefaults(maxEndpoints - endpoints)
		endpoints += len(c.Endpoints)
		return err
	})
	if err != nil {
		return at("clusters", err)
	}
	if len(s.Routes) == 0 && len(s.Clusters) == 1 {
		s.Routes = []Route{{Name: "default"}}
	}
	for i := range s.Routes {
		route := &s.Routes[i]
		route.Domain = orElse(route.Domain, "example.com")
		if len(s.Clusters) == 1 {
			route.Cluster = orElse(route.Cluster, s.Clusters[0].Name)
		}
	}
	for i := range s.Traffic {
		s.Traffic[i].fillDefaults(s, i)
	}
	return nil
}

// fillDefaults makes at most so many endpoints.
func (c *Cluster) fillDefaults(atMost int) error {
	c.Balancer = orElse(c.Balancer, "round_robin")
	var all []Endpoint
	for i, endpoint := range c.Endpoints {
		endpoint.place = i
		if endpoint.Latency == nil {
			endpoint.Latency = slices.Clone(c.Latency)
		}
		for j := range endpoint.Latency {
			endpoint.Latency[j].Status = orElse(endpoint.Latency[j].Status, 200)
		}
		some, err := endpoint.expand()
		if err != nil {
			return at("endpoints", atIndex(i, err))
		}
		if all = append(all, some...); len(all) > atMost {
			return at("endpoints", atIndex(i, fmt.Errorf("is one too many; should be at most %d in all clusters together", maxEndpoints)))
		}
	}
	c.Endpoints = all
	return nil
}

// expand turns an endpoint with a count into that many.
func (e Endpoint) expand() ([]Endpoint, error) {
	if e.Address == "" {
		return nil, at("address", errors.New(`is missing; should be ip:port, such as "10.0.0.1:8000"`))
	}
	address, err := netip.ParseAddrPort(e.Address)
	if err != nil {
		return nil, at("address", fmt.Errorf(`given %q; should be ip:port, such as "10.0.0.1:8000" or "[fd00::1]:8000"`, e.Address))
	}
	if e.Name == "" {
		e.Name = e.Address
	}
	if e.Count == 0 {
		return []Endpoint{e}, nil
	}
	if e.Count < 0 || e.Count > maxEndpoints {
		return nil, at("count", fmt.Errorf("given %d; should be 1 to %d", e.Count, maxEndpoints))
	}
	var all []Endpoint
	ip := address.Addr()
	for n := 1; n <= e.Count; n++ {
		if !ip.IsValid() {
			return nil, at("count", errors.New("the addresses run out"))
		}
		one := e
		one.Count = 0
		one.Name = fmt.Sprintf("%s-%d", e.Name, n)
		one.Address = netip.AddrPortFrom(ip, address.Port()).String()
		all = append(all, one)
		ip = ip.Next()
	}
	return all, nil
}

func (t *Traffic) fillDefaults(s *Scenario, index int) {
	if len(s.Routes) == 1 {
		t.Route = orElse(t.Route, s.Routes[0].Name)
	}
	t.Name = orElse(t.Name, fmt.Sprintf("traffic-%d", index+1))
	t.Arrivals = orElse(t.Arrivals, "constant")
	t.Spread = orElse(t.Spread, "even")
	t.Method = orElse(t.Method, http.MethodGet)
	t.ResponseType = orElse(t.ResponseType, "application/json")
	if t.To == nil {
		t.To = &s.Duration
	}
}

func orElse[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}
