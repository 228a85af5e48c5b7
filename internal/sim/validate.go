package sim

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// validate reports the first thing in the scenario that cannot be played.
func (s *Scenario) validate() error {
	if s.Name == "" {
		return at("name", errors.New("is missing"))
	}
	if s.Duration <= 0 {
		return at("duration", errors.New(`is missing; should be the length of the run, such as "10m"`))
	}
	return firstOf(
		at("workers", s.Workers.validate()),
		at("clusters", s.validateClusters()),
		at("routes", s.validateRoutes()),
		at("traffic", s.validateTraffic()),
		at("events", s.validateEvents()),
		at("expect", s.validateExpectations()),
	)
}

func (c WorkerCounts) validate() error {
	for _, count := range c {
		if count < 1 || count > 64 {
			return fmt.Errorf("given %d; should be 1 to 64", count)
		}
	}
	return nil
}

func (s *Scenario) validateClusters() error {
	if len(s.Clusters) == 0 {
		return errors.New("is missing; there should be at least one")
	}
	clusters, endpoints := map[string]bool{}, map[string]bool{}
	return eachOf(s.Clusters, func(c *Cluster) error {
		return firstOf(
			at("name", fresh(clusters, c.Name)),
			at("balancer", oneOf(c.Balancer, "round_robin", "random")),
			at("endpoints", c.validateEndpoints(endpoints)),
		)
	})
}

func (c *Cluster) validateEndpoints(names map[string]bool) error {
	if len(c.Endpoints) == 0 {
		return errors.New("is missing; there should be at least one")
	}
	addresses := map[string]bool{}
	return eachOf(c.Endpoints, func(e *Endpoint) error {
		return firstOf(
			at("name", fresh(names, e.Name)),
			at("address", fresh(addresses, e.Address)),
			at("latency", e.Latency.validate()),
			at("latency", e.Latency.validateRepeat(e.Repeat)),
		)
	})
}

func (s *Scenario) validateRoutes() error {
	if len(s.Routes) == 0 {
		return errors.New("is missing; with several clusters there should be a route to each")
	}
	names := map[string]bool{}
	return eachOf(s.Routes, func(r *Route) error {
		return firstOf(at("name", fresh(names, r.Name)), at("cluster", s.knowsCluster(r.Cluster)))
	})
}

func (s *Scenario) validateTraffic() error {
	if len(s.Traffic) == 0 {
		return errors.New("is missing; nobody would send a request")
	}
	names := map[string]bool{}
	return eachOf(s.Traffic, func(t *Traffic) error {
		if err := firstOf(at("name", fresh(names, t.Name)), at("route", s.knowsRoute(t.Route))); err != nil {
			return err
		}
		for _, workers := range s.Workers {
			if err := t.validate(workers); err != nil {
				return err
			}
		}
		return nil
	})
}

// validate checks one traffic for a gateway with that many workers.
func (t *Traffic) validate(workers int) error {
	return firstOf(
		t.validateAmount(),
		t.validateSpread(workers),
		at("arrivals", oneOf(t.Arrivals, "constant", "poisson")),
		at("spread", oneOf(t.Spread, "even", "random", "each")),
		at("method", oneOf(t.Method, http.MethodGet, http.MethodPost)),
	)
}

func (t *Traffic) validateAmount() error {
	switch {
	case (t.Rate > 0) == (t.Burst > 0):
		return errors.New("there should be either a rate (requests per second) or a burst (a number of requests), above 0")
	case t.Burst > 0 && (t.Arrivals != "constant" || t.Spread == "each"):
		return errors.New("a burst goes with neither arrivals nor spread: each")
	case t.Burst == 0 && t.Over > 0:
		return at("over", errors.New("goes with burst only"))
	case *t.To <= t.From:
		return at("to", fmt.Errorf("given %s; should be after from, %s", *t.To, t.From))
	case t.Upload > 0 && t.Method != http.MethodPost:
		return at("upload", errors.New("goes with method POST only"))
	default:
		return nil
	}
}

func (t *Traffic) validateSpread(workers int) error {
	switch {
	case t.Spread != "even" && (t.Weights != nil || t.Worker != nil), t.Weights != nil && t.Worker != nil:
		return errors.New("there should be one of spread, weights and worker")
	case t.Worker != nil && (*t.Worker < 0 || *t.Worker >= workers):
		return at("worker", fmt.Errorf("given %d; should be 0 to %d", *t.Worker, workers-1))
	case t.Weights != nil && len(t.Weights) != workers:
		return at("weights", fmt.Errorf("given %d; should be one for each of the %d workers", len(t.Weights), workers))
	case t.Weights != nil && slices.Min(t.Weights) <= 0:
		return at("weights", errors.New("each should be above 0"))
	default:
		return nil
	}
}

func (s *Scenario) validateEvents() error {
	return eachOf(s.Events, func(e *Event) error {
		if err := e.validateTimes(s.Duration); err != nil {
			return err
		}
		kind, what, err := e.action()
		if err != nil {
			return err
		}
		return at(kind, what.validate(s))
	})
}

func (s *Scenario) validateExpectations() error {
	return eachOf(s.Expect, func(e *Expectation) error {
		kind, what, err := e.condition()
		if err != nil {
			return err
		}
		return at(kind, what.validate(s))
	})
}

// fresh notes a name that must be there and be used once.
func fresh(names map[string]bool, name string) error {
	if name == "" {
		return errors.New("is missing")
	}
	if names[name] {
		return fmt.Errorf("given %q; is there twice", name)
	}
	names[name] = true
	return nil
}

func oneOf(given string, known ...string) error {
	if slices.Contains(known, given) {
		return nil
	}
	return fmt.Errorf("given %q; should be one of %s", given, strings.Join(known, ", "))
}

// unknown says that a name is not in the file; of many known ones it shows some.
func unknown(given string, known []string) error {
	const shown = 10
	list := strings.Join(known[:min(shown, len(known))], ", ")
	if len(known) > shown {
		list += ", …"
	}
	return fmt.Errorf("given %q; known in this file: %s", given, list)
}
