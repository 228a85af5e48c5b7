package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// ruleMatch is one key by which an entry of _rules_ says for which requests it is.
type ruleMatch struct {
	key string
	// known are the names of the file that it may match.
	known func(s *Scenario) []string
	// matches compares a name in the configuration with one of the file, as the rule
	// matcher of Higress's wasm-go does.
	matches func(given, known string) bool
	shown   func(known string) string
}

func ruleMatches() []ruleMatch {
	same := func(known string) string { return known }
	return []ruleMatch{
		{"_match_route_", (*Scenario).routeNames, func(given, known string) bool { return given == known }, same},
		{"_match_route_prefix_", (*Scenario).routeNames, func(given, known string) bool { return strings.HasPrefix(known, given) }, same},
		{"_match_domain_", (*Scenario).hosts, matchesHost, same},
		{"_match_service_", (*Scenario).services, matchesService, func(known string) string { return serviceOf(known).fqdn }},
	}
}

// validateRules refuses rules for what is not in the file: they would never apply, and
// nothing would say so. What is no rule at all the plugin refuses.
func (s *Scenario) validateRules(plugin json.RawMessage) error {
	for i, entry := range gjson.GetBytes(plugin, "_rules_").Array() {
		for _, match := range ruleMatches() {
			if err := at(match.key, match.validate(s, entry.Get(match.key))); err != nil {
				return at("_rules_", atIndex(i, err))
			}
		}
	}
	return nil
}

func (m ruleMatch) validate(s *Scenario, names gjson.Result) error {
	if !names.IsArray() {
		return nil
	}
	known := m.known(s)
	for _, name := range names.Array() {
		given := name.String()
		if name.Type != gjson.String || given == "" || slices.ContainsFunc(known, func(one string) bool { return m.matches(given, one) }) {
			continue
		}
		return unknown(given, namesOf(known, m.shown))
	}
	return nil
}

func (s *Scenario) routeNames() []string {
	return namesOf(s.Routes, func(r Route) string { return r.Name })
}

// hosts are the domains of the routes without their ports, each once.
func (s *Scenario) hosts() []string {
	var hosts []string
	for _, route := range s.Routes {
		if host := withoutPort(route.Domain); !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// withoutPort leaves the colons of an IPv6 address alone.
func withoutPort(domain string) string {
	if colon := strings.LastIndexByte(domain, ':'); colon > strings.LastIndexByte(domain, ']') {
		return domain[:colon]
	}
	return domain
}

// matchesHost knows *suffix and prefix*.
func matchesHost(given, host string) bool {
	if suffix, found := strings.CutPrefix(given, "*"); found {
		return strings.HasSuffix(host, suffix)
	}
	if prefix, found := strings.CutSuffix(given, "*"); found {
		return strings.HasPrefix(host, prefix)
	}
	return given == host
}

// services are the clusters that are called as Istio calls those of a service.
func (s *Scenario) services() []string {
	var services []string
	for _, cluster := range s.Clusters {
		if serviceOf(cluster.Name).fqdn != "" {
			services = append(services, cluster.Name)
		}
	}
	return services
}

type service struct{ fqdn, port string }

// serviceOf takes the name of a cluster apart: outbound|443||llm.dns. Of any other name
// nothing remains.
func serviceOf(cluster string) service {
	parts := strings.Split(cluster, "|")
	if len(parts) != 4 {
		return service{}
	}
	return service{fqdn: parts[3], port: parts[1]}
}

// matchesService takes the fqdn with or without the port.
func matchesService(given, cluster string) bool {
	of := serviceOf(cluster)
	return given == of.fqdn || given == fmt.Sprintf("%s:%s", of.fqdn, of.port)
}
