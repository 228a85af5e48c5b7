//go:build !envoy

package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm"
	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm/types"
	"github.com/tidwall/gjson"
)

// healthy is the one value of health_status that Higress's own load balancers select.
const healthy = "Healthy"

// upstream answers the two questions that differ between gateways: which hosts are there, and
// how is one of them chosen. This is Higress's way: two host calls of its own.
type upstream struct{ hosts []host }

func newUpstream(*plugin) upstream { return upstream{} }

// arriving is called before the wrapper matches the rules of a request. Higress's Envoy has all
// that it matches by.
func (u *upstream) arriving() error { return nil }

// learnsFromAnswers tells that answered needs to be called: here hosts are asked for.
const learnsFromAnswers = false

// answered is called with the response headers of a request. There is nothing to learn.
func (u *upstream) answered(*request, string) error { return nil }

// clusterName returns the cluster that the current stream is routed to, as Higress names it
// (outbound|443||provider.dns); empty if it is routed to none.
func clusterName() (string, error) {
	name, err := property("cluster_name")
	return string(name), err
}

// list returns the hosts of the cluster that the current request is routed to; none is not an
// error. The slice is valid until the next call.
func (u *upstream) list(*rule, string, instant) (hosts []host, err error) {
	// The SDK trusts the host's encoding and indexes into it unchecked.
	defer func() {
		if junk := recover(); junk != nil {
			err = fmt.Errorf("proxy_get_upstream_hosts: malformed host list: %v", junk)
		}
	}()
	pairs, err := proxywasm.GetUpstreamHosts()
	if errors.Is(err, types.ErrorStatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("proxy_get_upstream_hosts: %w", err)
	}
	u.hosts = u.hosts[:0]
	for _, pair := range pairs {
		u.hosts = append(u.hosts, host{address: pair[0], healthy: selectable(pair[1])})
	}
	return u.hosts, nil
}

// selectable reads a host's JSON: healthy, or without a word about its health.
func selectable(description string) bool {
	status := gjson.Get(description, "health_status")
	return !status.Exists() || status.String() == healthy
}

// override asks the router to send the first attempt to the address. It succeeds for a host
// that does not exist; Envoy then chooses as usual.
func (u *upstream) override(address string) error {
	if err := proxywasm.SetUpstreamOverrideHost([]byte(address)); err != nil {
		return fmt.Errorf("proxy_set_upstream_override_host: %s: %w", address, err)
	}
	return nil
}

// actionAfterOverride returns how the headers callback goes on. Higress's load balancers hold
// the headers until the body comes. A request without a body would hang then, and so would one
// whose client waits for an answer before it sends more; one that cannot be told is not held.
func (u *upstream) actionAfterOverride(bodyToCome bool) (types.Action, error) {
	if !bodyToCome {
		return types.HeaderContinue, nil
	}
	waits, err := clientWaits()
	if waits || err != nil {
		return types.HeaderContinue, err
	}
	return types.HeaderStopIteration, nil
}

// clientWaits reports whether the client may send its body only after something has come
// back: gRPC streams, Expect: 100-continue, and upgrades of whatever method.
func clientWaits() (bool, error) {
	contentType, err := header(proxywasm.GetHttpRequestHeader, "content-type")
	if err != nil || isGRPC(contentType) {
		return true, err
	}
	expect, err := header(proxywasm.GetHttpRequestHeader, "expect")
	if err != nil || strings.EqualFold(expect, "100-continue") {
		return true, err
	}
	upgrade, err := header(proxywasm.GetHttpRequestHeader, "upgrade")
	return upgrade != "", err
}
