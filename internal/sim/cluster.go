package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"

	"endpoint-breaker/internal/wasmhost"
)

// cluster is an Envoy cluster at work.
type cluster struct {
	*Cluster
	hosts []*endpoint // the members now, in the registry's order
	// One balancer for each worker: the index of the host to take next.
	next   []int
	random *rand.Rand
}

// endpoint is one host at work.
type endpoint struct {
	*Responder
	cluster *cluster
	health  string
}

func (m *simulation) addCluster(c *Cluster) {
	added := &cluster{Cluster: c, random: m.random("balancer " + c.Name)}
	for _, declared := range c.Endpoints {
		e := &endpoint{Responder: NewResponder(declared, m.options.Seed), cluster: added, health: "Healthy"}
		m.endpoints[declared.Name] = e
		if !declared.Absent {
			added.hosts = append(added.hosts, e)
		}
	}
	for range m.options.Workers {
		added.next = append(added.next, added.random.IntN(len(c.Endpoints)))
	}
	m.clusters[c.Name] = added
}

// selectable reports whether Envoy honours an override to the host.
func (e *endpoint) selectable() bool { return e.health == "Healthy" || e.health == "Degraded" }

// list is what proxy_get_upstream_hosts shows.
func (c *cluster) list() []wasmhost.Host {
	hosts := make([]wasmhost.Host, 0, len(c.hosts))
	for _, e := range c.hosts {
		hosts = append(hosts, wasmhost.Host{Address: e.Address, Health: e.health})
	}
	return hosts
}

// choose is the router's choice: the override host if it is there and
// selectable, else the balancer's. It is nil when no host is selectable: like
// Higress, whose panic threshold is 0, it does not fall back to unhealthy ones.
func (c *cluster) choose(worker int, override string) (chosen *endpoint, overridden bool) {
	for _, e := range c.hosts {
		if override != "" && e.Address == override && e.selectable() {
			return e, true
		}
	}
	return c.balance(worker), false
}

func (c *cluster) balance(worker int) *endpoint {
	open := c.withHealth("Healthy")
	if len(open) == 0 {
		open = c.withHealth("Degraded")
	}
	if len(open) == 0 {
		return nil
	}
	if c.Balancer == "random" {
		return open[c.random.IntN(len(open))]
	}
	index := c.next[worker] % len(open)
	c.next[worker] = index + 1
	return open[index]
}

func (c *cluster) withHealth(health string) []*endpoint {
	var found []*endpoint
	for _, e := range c.hosts {
		if e.health == health {
			found = append(found, e)
		}
	}
	return found
}

func (c *cluster) add(e *endpoint) {
	if !slices.Contains(c.hosts, e) {
		c.hosts = append(c.hosts, e)
	}
}

func (c *cluster) remove(e *endpoint) {
	c.hosts = slices.DeleteFunc(c.hosts, func(other *endpoint) bool { return other == e })
}

func (c *cluster) moveToFront(e *endpoint) {
	if !slices.Contains(c.hosts, e) {
		return
	}
	c.remove(e)
	c.hosts = slices.Insert(c.hosts, 0, e)
}

func workerName(index int) string {
	if index == wasmhost.BaseVM {
		return "base"
	}
	return "w" + strconv.Itoa(index)
}
