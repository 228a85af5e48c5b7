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
	if err := at("name", fresh(map[string]bool{}, s.Name)); err != nil {
		return err
	}
	if s.Duration <= 0 {
		return at("duration", errors.New(`is missing; should be the length of the run, such as "10m"`))
	}
	return firstOf(
		at("workers", s.Workers.validate()),
		at("clusters", s.validateClusters()),
		at("routes", s.validateRoutes()),
		at("plugin", s.validateRules(s.Plugin)),
		at("traffic", s.validateTraffic()),
		at("events", s.validateEvents()),
		at("expect", s.validateExpectations()),
	)
}

func (c WorkerCounts) validate() error {
	for _, count := range c {
		if count < 1 || count > maxWorkers {
			return fmt.Errorf("given %d; should be 1 to %d", count, maxWorkers)
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
	for _, e := range c.Endpoints {
		err := firstOf(
			at("name", fresh(names, e.Name)),
			at("address", fresh(addresses, e.Address)),
			at("latency", e.Latency.validate()),
			at("latency", e.Latency.validateRepeat(e.Repeat)),
		)
		if err != nil {
			return atIndex(e.place, err)
		}
	}
	return nil
}

func (s *Scenario) validateRoutes() error {
	if len(s.Routes) == 0 {
		return errors.New("is missing; with several clusters there should be a route to each")
	}
	names := map[string]bool{}
	return eachOf(s.Routes, func(r *Route) error {
		return firstOf(
			at("name", fresh(names, r.Name)),
			at("cluster", s.knowsCluster(r.Cluster)),
			at("domain", printable(r.Domain)),
		)
	})
}

func (s *Scenario) validateTraffic() error {
	if len(s.Traffic) == 0 {
		return errors.New("is missing; nobody would send a request")
	}
	names := map[string]bool{}
	err := eachOf(s.Traffic, func(t *Traffic) error {
		if err := firstOf(at("name", fresh(names, t.Name)), at("route", s.knowsRoute(t.Route))); err != nil {
			return err
		}
		if err := t.validate(s.Duration); err != nil {
			return err
		}
		for _, workers := range s.Workers {
			if err := t.validateSpread(workers); err != nil {
				return err
			}
		}
		return nil
	})
	return firstOf(err, s.validateRequests())
}

// validate checks one traffic of a run of that length.
func (t *Traffic) validate(end Duration) error {
	return firstOf(
		t.validateAmount(),
		t.validateTimes(end),
		at("arrivals", oneOf(t.Arrivals, "constant", "poisson")),
		at("spread", oneOf(t.Spread, "even", "random", "each")),
		at("method", oneOf(t.Method, http.MethodGet, http.MethodPost)),
		at("response_type", printable(t.ResponseType)),
	)
}

func (t *Traffic) validateAmount() error {
	switch {
	case (t.Rate != 0) == (t.Burst != 0):
		return errors.New("there should be either a rate (requests per second) or a burst (a number of requests), above 0")
	case t.Rate != 0 && (t.Rate < minRate || t.Rate > maxRate):
		return at("rate", fmt.Errorf("given %v; should be %v to %v requests per second", t.Rate, minRate, maxRate))
	case t.Burst != 0 && (t.Burst < 1 || t.Burst > maxBurst):
		return at("burst", fmt.Errorf("given %d; should be 1 to %d requests", t.Burst, maxBurst))
	case t.Burst > maxInFlight && t.Over == 0:
		return at("burst", fmt.Errorf("given %d at one moment; should be at most %d, or more over a time", t.Burst, maxInFlight))
	case t.Burst > 0 && (t.Arrivals != "constant" || t.Spread == "each"):
		return errors.New("a burst goes with neither arrivals nor spread: each")
	case t.Burst == 0 && t.Over > 0:
		return at("over", errors.New("goes with burst only"))
	default:
		return nil
	}
}

func (t *Traffic) validateTimes(end Duration) error {
	switch {
	case t.From >= end:
		return at("from", fmt.Errorf("given %s; the run ends at %s", t.From, end))
	case *t.To <= t.From:
		return at("to", fmt.Errorf("given %s; should be after from, %s", *t.To, t.From))
	case t.Upload > 0 && t.Method != http.MethodPost:
		return at("upload", errors.New("goes with method POST only"))
	case t.LeaveAfter != nil && *t.LeaveAfter == 0:
		return at("leave_after", errors.New("given 0s; should be above 0s"))
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
	case t.Weights != nil && (slices.Min(t.Weights) <= 0 || slices.Max(t.Weights) > maxWeight):
		return at("weights", fmt.Errorf("each should be above 0 and at most %d", maxWeight))
	default:
		return nil
	}
}

func (s *Scenario) validateEvents() error {
	occurrences := int64(0)
	return eachOf(s.Events, func(e *Event) error {
		if err := e.validateTimes(s.Duration); err != nil {
			return err
		}
		if occurrences += e.occurrences(s.Duration); occurrences > maxOccurrences {
			return at("every", fmt.Errorf("given %s; with it events happen %d times in all; should be at most %d", e.Every, occurrences, maxOccurrences))
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

// fresh notes a name that must be there, be printable and be used once.
func fresh(names map[string]bool, name string) error {
	if name == "" {
		return errors.New("is missing")
	}
	if names[name] {
		return fmt.Errorf("given %q; is there twice", name)
	}
	names[name] = true
	return printable(name)
}

// givenOrMissing shows the value of a field that must not be empty.
func givenOrMissing(value string) string {
	if value == "" {
		return "is missing"
	}
	return fmt.Sprintf("given %q", value)
}

func notNegative[T int | int64](given T) error {
	if given < 0 {
		return fmt.Errorf("given %d; should be 0 or more", given)
	}
	return nil
}

func oneOf(given string, known ...string) error {
	if slices.Contains(known, given) {
		return nil
	}
	return fmt.Errorf("%s; should be one of %s", givenOrMissing(given), strings.Join(known, ", "))
}

// unknown says that a name is not in the file; of many known ones it shows some.
func unknown(given string, known []string) error {
	const shown = 10
	var names []string
	for _, name := range known[:min(shown, len(known))] {
		names = append(names, quoted(name))
	}
	list := strings.Join(names, ", ")
	if len(known) > shown {
		list += ", …"
	}
	return fmt.Errorf("%s; known in this file: %s", givenOrMissing(given), orElse(list, "none"))
}
