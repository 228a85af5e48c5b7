package sim

import "slices"

// This file finds what a scenario refers to by name.

func (s *Scenario) route(name string) *Route {
	i := slices.IndexFunc(s.Routes, func(r Route) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Routes[i]
}

func (s *Scenario) knowsRoute(name string) error {
	if s.route(name) != nil {
		return nil
	}
	return unknown(name, s.routeNames())
}

func (s *Scenario) knowsCluster(name string) error {
	known := namesOf(s.Clusters, func(c Cluster) string { return c.Name })
	if slices.Contains(known, name) {
		return nil
	}
	return unknown(name, known)
}

func (s *Scenario) knowsTraffic(name string) error {
	known := namesOf(s.Traffic, func(t Traffic) string { return t.Name })
	if slices.Contains(known, name) {
		return nil
	}
	return unknown(name, known)
}

func (s *Scenario) knowsEndpoints(names ...string) error {
	known := s.endpointNames()
	for _, name := range names {
		if !slices.Contains(known, name) {
			return unknown(name, known)
		}
	}
	return nil
}

// clusterOf names the cluster that an endpoint belongs to.
func (s *Scenario) clusterOf(endpoint string) string {
	for _, cluster := range s.Clusters {
		if slices.ContainsFunc(cluster.Endpoints, func(e Endpoint) bool { return e.Name == endpoint }) {
			return cluster.Name
		}
	}
	return ""
}

func (s *Scenario) endpointNames() []string {
	var names []string
	for _, cluster := range s.Clusters {
		names = append(names, namesOf(cluster.Endpoints, func(e Endpoint) string { return e.Name })...)
	}
	return names
}

func namesOf[T any](all []T, name func(T) string) []string {
	var names []string
	for _, one := range all {
		names = append(names, name(one))
	}
	return names
}
