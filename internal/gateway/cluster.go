package gateway

import (
	"fmt"
	"slices"
	"sync"

	"endpoint-breaker/internal/wasmhost"
)

const (
	healthy   = "Healthy"
	degraded  = "Degraded"
	unhealthy = "Unhealthy"
)

// HostState is one host of the cluster and what it got so far. A request counts
// when the router chose its host, whatever became of it.
type HostState struct {
	Address    string
	Health     string
	ByOverride uint64 // requests placed there because the plugin said so
	ByBalancer uint64 // requests placed there by round robin
}

// Placed is the number of requests that the host was chosen for.
func (h HostState) Placed() uint64 { return h.ByOverride + h.ByBalancer }

// cluster is the hosts and the balancer over them.
type cluster struct {
	mu    sync.Mutex
	hosts []HostState
	turn  int
}

func newCluster(addresses []string) *cluster {
	c := &cluster{}
	for _, address := range addresses {
		c.hosts = append(c.hosts, HostState{Address: address, Health: healthy})
	}
	return c
}

func (c *cluster) states() []HostState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]HostState(nil), c.hosts...)
}

// forPlugin is the list as proxy_get_upstream_hosts gives it.
func (c *cluster) forPlugin() []wasmhost.Host {
	c.mu.Lock()
	defer c.mu.Unlock()
	hosts := make([]wasmhost.Host, len(c.hosts))
	for i, h := range c.hosts {
		hosts[i] = wasmhost.Host{Address: h.Address, Health: h.Health}
	}
	return hosts
}

// setHealth changes what a health check would have found: healthy, degraded or unhealthy.
func (c *cluster) setHealth(address, health string) error {
	if !slices.Contains([]string{healthy, degraded, unhealthy}, health) {
		return fmt.Errorf("gateway: health of host %q: got %q, want %s, %s or %s", address, health, healthy, degraded, unhealthy)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.find(address)
	if h == nil {
		return fmt.Errorf("gateway: no host %q in the cluster", address)
	}
	h.Health = health
	return nil
}

// place chooses the host of a request and counts it there: the override if the
// cluster has that host and it is not unhealthy (which is what Envoy honours by
// default), else the next healthy host in turn. Degraded hosts get a turn when no
// host is healthy. "" = nobody is left; there is no panic mode, as in Higress.
func (c *cluster) place(override string) (address string, overridden bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.find(override); h != nil && h.Health != unhealthy {
		h.ByOverride++
		return h.Address, true
	}
	for _, health := range []string{healthy, degraded} {
		if h := c.inTurn(health); h != nil {
			h.ByBalancer++
			return h.Address, false
		}
	}
	return "", false
}

func (c *cluster) find(address string) *HostState {
	for i := range c.hosts {
		if c.hosts[i].Address == address {
			return &c.hosts[i]
		}
	}
	return nil
}

func (c *cluster) inTurn(health string) *HostState {
	for range c.hosts {
		h := &c.hosts[c.turn%len(c.hosts)]
		c.turn++
		if h.Health == health {
			return h
		}
	}
	return nil
}
