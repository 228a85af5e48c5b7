//go:build envoy

package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"

	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm"
	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm/types"
)

// overrideHeader tells Envoy's stateful_session filter, which stands behind ours, the host: its
// address in base64. A header_mutation filter in front of ours removes it from what clients send
// and get, one behind stateful_session from what upstreams get.
const overrideHeader = "x-endpoint-breaker-host"

// metricDiscoveries counts requests that were left to Envoy so that it may meet a new host.
const metricDiscoveries = "discoveries"

// metricOverridesIgnored counts first attempts that Envoy has sent elsewhere than it was asked to. Now
// and then a host has left; when it is most of the overrides, the cluster is of a kind in which they
// do not work.
const metricOverridesIgnored = "overrides_ignored"

// proxyABIVersion is exported because a stock Envoy refuses a module without an ABI version that
// it knows, and the SDK exports only Higress's.
//
//go:wasmexport proxy_abi_version_0_2_1
func proxyABIVersion() {} //nolint:unused // called by nobody, looked for by Envoy

// upstream answers the two questions that differ between gateways: which hosts are there, and
// how is one of them chosen. This is the way of a stock Envoy: hosts are learned from responses,
// and a header overrides the choice.
type upstream struct {
	plugin *plugin
	store  *hostStore
	sizes  *censuses
	missed misses
	hosts  []host
}

func newUpstream(p *plugin) upstream {
	return upstream{
		plugin: p,
		store:  newHostStore(hostSharedData{}, p.breaker.store, p.documentDamaged),
		sizes:  newCensuses(),
		missed: misses{},
	}
}

// arriving is called before the wrapper matches the rules of a request. It matches by two
// properties that a stock Envoy does not have; what they would hold is in two others.
func (u *upstream) arriving() error {
	if len(u.plugin.settings.rules) == 0 {
		return nil
	}
	return errors.Join(copyProperty("xds", "route_name"), copyProperty("xds", "cluster_name"))
}

// copyProperty sets the property name to the value of the one below parent, if there is one.
func copyProperty(parent, name string) error {
	value, err := property(parent, name)
	if err != nil || len(value) == 0 {
		return err
	}
	if err := proxywasm.SetProperty([]string{name}, value); err != nil {
		return fmt.Errorf("setting property %s: %w", name, err)
	}
	return nil
}

// clusterName returns the cluster that the current stream is routed to; empty if it is routed
// to none.
func clusterName() (string, error) {
	name, err := property("xds", "cluster_name")
	return string(name), err
}

// list returns the hosts of the cluster that the current request is routed to: those that are
// known and, without an address, those that nobody has met. They cannot be chosen, but they are
// there, so that a few known ones are not taken for all. No hosts means that Envoy should choose,
// so that a new one is met. The slice is valid until the next call.
func (u *upstream) list(r *rule, cluster string, now instant) ([]host, error) {
	hosts, err := u.store.list(u.hosts[:0], cluster, r.observes(), now)
	if err != nil {
		return nil, err
	}
	size := u.sizes.cluster(cluster, now)
	if size.discovers(len(hosts), now) {
		u.hosts = hosts
		u.plugin.meters.decision(metricDiscoveries, r, cluster)
		return nil, nil
	}
	for range size.unmet(len(hosts)) {
		hosts = append(hosts, host{})
	}
	u.hosts = hosts
	return hosts, nil
}

// override asks Envoy to send the first attempt to the address. For a host that it does not
// have, or would not use, Envoy chooses as usual.
func (u *upstream) override(address string) error {
	if err := proxywasm.SetProperty([]string{"clear_route_cache"}, []byte("off")); err != nil {
		return fmt.Errorf("switching the route's recalculation off: %w", err)
	}
	value := base64.StdEncoding.EncodeToString([]byte(address))
	if err := proxywasm.ReplaceHttpRequestHeader(overrideHeader, value); err != nil {
		return fmt.Errorf("setting header %s to %s: %w", overrideHeader, address, err)
	}
	return nil
}

// actionAfterOverride returns how the headers callback goes on: the filter behind ours reads
// the header when it comes by.
func (u *upstream) actionAfterOverride(bool) (types.Action, error) { return types.ActionContinue, nil }

// learnsFromAnswers tells that answered needs to be called, also for answers that count no more.
const learnsFromAnswers = true

// answered learns from the response headers of the current stream, whoever made them.
func (u *upstream) answered(q *request, details string) error {
	failed := connectionFailed(details)
	if !failed && endingOf(details) != endedByEndpoint {
		return nil // a reply of Envoy or of a filter tells nothing about hosts
	}
	address, err := property("upstream", "address")
	if err != nil || len(address) == 0 {
		return err
	}
	cluster, err := clusterName()
	if err != nil || cluster == "" {
		return err
	}
	now := monotonicNow()
	if now == unknown {
		return nil
	}
	if asked := q.override.address; asked != "" {
		if err := u.compare(hostKey{cluster, asked}, string(address), now); err != nil {
			return err
		}
	}
	if failed {
		u.drop(cluster, string(address), now)
	} else {
		u.see(cluster, string(address), now)
	}
	return u.count(cluster, now)
}

// compare forgets the host that a request was to go to, if it is not the one that the request
// went to.
func (u *upstream) compare(asked hostKey, address string, now instant) error {
	if asked.endpoint == address {
		u.missed.forget(asked)
		return nil
	}
	attempts, _, err := number("upstream", "request_attempt_count")
	if err != nil {
		return err
	}
	if attempts <= 1 {
		u.plugin.meters.cluster(metricOverridesIgnored, asked.cluster)
	}
	if u.missed.enough(asked, attempts > 1) {
		u.drop(asked.cluster, asked.endpoint, now)
	}
	return nil
}

// count asks how many hosts the cluster has.
func (u *upstream) count(cluster string, now instant) error {
	c := u.sizes.cluster(cluster, now)
	if now.since(c.countedAt) < recountAfter {
		return nil
	}
	endpoints, known, err := number("upstream", "num_endpoints")
	if known {
		c.endpoints, c.countedAt = int(min(endpoints, mostHosts)), now //nolint:gosec // bounded
	}
	return err
}

// see learns a host, if it is one that the header can name.
func (u *upstream) see(cluster, address string, now instant) {
	if _, err := netip.ParseAddrPort(address); err != nil {
		return // a socket's path, or a listener of Envoy's own: nothing to choose
	}
	conflicts, err := u.store.see(cluster, address, now)
	u.plugin.sharedDataUsed(conflicts, err, now)
}

func (u *upstream) drop(cluster, address string, now instant) {
	conflicts, err := u.store.drop(cluster, address, now)
	u.plugin.sharedDataUsed(conflicts, err, now)
}
