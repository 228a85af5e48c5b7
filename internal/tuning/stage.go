package tuning

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"endpoint-breaker/internal/sim"
)

// What is the same in every scenario.
const (
	warmUp    = time.Minute      // before anything happens to a host
	usual     = 2 * time.Second  // what an answer of a healthy host takes
	threshold = 70 * time.Second // slow_threshold, by default
)

// stage is a run of several clusters, none of which knows of the others. Starting the plugin takes
// longer than many requests, so what differs in chance only shares a run.
type stage struct {
	name     string
	workers  int
	duration time.Duration
	clusters []cluster
}

// cluster is some hosts, the requests to them, independent of each other and at random over the
// workers, and the rule for them. The same name and seed give the same requests.
type cluster struct {
	name  string
	rule  configuration
	hosts int
	ill   int // so many hosts, from the first on, have the fault
	fault []step
	rate  float64       // requests per second
	to    time.Duration // when the last request may come; 0 = at the end of the run
}

// step is how the hosts with the fault answer from a moment on; hang is never.
type step struct {
	from time.Duration
	took time.Duration
}

const hang = time.Duration(0)

// object is one of the scenario's file.
type object map[string]any

func (s stage) scenario() (*sim.Scenario, error) {
	var rules, clusters, routes, traffic []object
	for _, c := range s.clusters {
		rule := object{"_match_route_": []string{c.name}}
		for _, key := range c.rule {
			rule[key.name] = key.value
		}
		rules = append(rules, rule)
		clusters = append(clusters, object{"name": c.envoyName(), "latency": usual.String(), "endpoints": c.endpoints()})
		routes = append(routes, object{"name": c.name, "cluster": c.envoyName()})
		requests := object{"name": c.name, "route": c.name, "rate": c.rate, "arrivals": "poisson", "spread": "random"}
		if c.to > 0 {
			requests["to"] = c.to.String()
		}
		traffic = append(traffic, requests)
	}
	text, err := json.Marshal(object{
		"name": s.name, "duration": s.duration.String(), "workers": s.workers,
		"plugin": object{"_rules_": rules}, "clusters": clusters, "routes": routes, "traffic": traffic,
	})
	if err != nil {
		return nil, err
	}
	return sim.Parse(text)
}

func (c cluster) envoyName() string { return "outbound|443||" + c.name + ".dns" }

// endpoints are A, B, C … of the cluster.
func (c cluster) endpoints() []object {
	latency := []object{{"from": "0s", "headers": usual.String()}}
	for _, step := range c.fault {
		one := object{"from": step.from.String()}
		if step.took == hang {
			one["hang"] = true
		} else {
			one["headers"] = step.took.String()
		}
		latency = append(latency, one)
	}
	var all []object
	for i := range c.hosts {
		host := object{"name": c.host(i), "address": fmt.Sprintf("10.0.0.%d:8000", i+1)}
		if i < c.ill {
			host["latency"] = latency
		}
		all = append(all, host)
	}
	return all
}

// host is the name of the cluster's i-th host in the run.
func (c cluster) host(i int) string { return fmt.Sprintf("%s %c", c.name, 'A'+i) }

// play plays the stage to its end. A run in which the plugin itself fails has no figures.
func (s stage) play(ctx context.Context, wasm []byte, seed uint64) (*sim.Result, error) {
	scenario, err := s.scenario()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	result, err := sim.Run(ctx, scenario, sim.Options{Wasm: wasm, Workers: s.workers, Seed: seed})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	if err := pluginFailed(result); err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return result, nil
}

func pluginFailed(r *sim.Result) error {
	panics, calls := r.Metric("panics", ""), r.Metric("host_call_errors", "")
	if panics+calls > 0 || r.Trapped > 0 {
		return fmt.Errorf("the plugin failed: %d panics, %d failed host calls, %d VMs trapped", panics, calls, r.Trapped)
	}
	return nil
}

// blocksOf are the blocks of a host in the order of their beginning.
func blocksOf(r *sim.Result, host string) []*sim.Block {
	var found []*sim.Block
	for _, block := range r.Blocks {
		if block.Endpoint == host {
			found = append(found, block)
		}
	}
	return found
}

// requestsOf are the cluster's requests in the order of their arrival.
func requestsOf(r *sim.Result, c cluster) []*sim.Request {
	var found []*sim.Request
	for _, request := range r.Requests {
		if request.Cluster == c.envoyName() {
			found = append(found, request)
		}
	}
	return found
}
