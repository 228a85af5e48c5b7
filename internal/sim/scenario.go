package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"

	"sigs.k8s.io/yaml"
)

// Scenario is one scenario file: who is there, what happens when, and what must
// come of it. All moments count from the start of the run.
type Scenario struct {
	Name        string   `json:"name"`
	Description string   `json:"description"` // why it matters
	Seed        uint64   `json:"seed"`        // where everything random comes from
	Duration    Duration `json:"duration"`    // when the run ends, whatever is still in flight
	// Workers is how many worker threads the gateway has, 1 by default. Given a
	// list, the scenario is played once with each, and must hold for all.
	Workers WorkerCounts `json:"workers"`
	// Plugin is the plugin's configuration as the controller pushes it, with
	// _rules_ for what belongs to one route, domain or service.
	Plugin   json.RawMessage `json:"plugin"`
	Clusters []Cluster       `json:"clusters"`
	// Routes may be left out when there is one cluster: then there is one route,
	// "default", without a timeout.
	Routes  []Route       `json:"routes"`
	Traffic []Traffic     `json:"traffic"`
	Events  []Event       `json:"events"`
	Expect  []Expectation `json:"expect"`
}

// WorkerCounts is one number of workers or a list of them.
type WorkerCounts []int

// UnmarshalJSON takes both.
func (c *WorkerCounts) UnmarshalJSON(raw []byte) error {
	var one int
	if json.Unmarshal(raw, &one) == nil {
		*c = WorkerCounts{one}
		return nil
	}
	var several []json.RawMessage
	if json.Unmarshal(raw, &several) != nil || len(several) == 0 {
		return fmt.Errorf("given %s; should be a number from 1 to %d, or a list of them", excerpt(raw), maxWorkers)
	}
	return decode(raw, reflect.ValueOf((*[]int)(c)).Elem())
}

// Cluster is an Envoy cluster.
type Cluster struct {
	Name     string `json:"name"`     // as Envoy knows it, such as outbound|443||llm.dns
	Balancer string `json:"balancer"` // what chooses when nobody overrides: round_robin (default; each worker from a place of its own) or random
	// Latency is for the endpoints that have none of their own.
	Latency   Latency    `json:"latency"`
	Endpoints []Endpoint `json:"endpoints"`
}

// Endpoint is one host of a cluster, or several alike.
type Endpoint struct {
	Name    string  `json:"name"`    // what the rest of the file calls it, unique in the file
	Address string  `json:"address"` // ip:port, as Envoy prints it
	Latency Latency `json:"latency"`
	// Repeat starts the steps of the latency over each time so much has passed;
	// 0 = they are gone through once. Steps that stall do not go with it.
	Repeat Duration `json:"repeat"`
	// Count makes that many endpoints with consecutive addresses, called name-1,
	// name-2, …
	Count  int  `json:"count"`
	Absent bool `json:"absent"` // not in the cluster until an event adds it

	place int // in the file's list, where one with a count is one item
}

// Route is a route of the gateway.
type Route struct {
	Name    string   `json:"name"`
	Cluster string   `json:"cluster"`
	Domain  string   `json:"domain"`  // the :authority of its requests; by default "example.com"
	Timeout Duration `json:"timeout"` // runs from the request's last byte to the answer's last; 0 = none
}

// Traffic is one kind of request and when its clients send it. What a client
// waits for does not hold the next ones back.
type Traffic struct {
	Name  string `json:"name"`
	Route string `json:"route"` // by default the only one

	// Either Rate requests per second between From and To, at even distances or
	// (arrivals: poisson) independent of each other, or a Burst of that many
	// requests, spread evenly over Over from From on.
	From     Duration  `json:"from"`
	To       *Duration `json:"to"` // by default the end of the run
	Rate     float64   `json:"rate"`
	Arrivals string    `json:"arrivals"` // constant (default), poisson
	Burst    int       `json:"burst"`
	Over     Duration  `json:"over"`

	// Spread says how the requests fall on the workers: even (default; in turn),
	// random, or each (every worker gets this much traffic of its own). Weights
	// spreads at random with one weight for each worker; Worker pins all
	// to that one.
	Spread  string    `json:"spread"`
	Weights []float64 `json:"weights"`
	Worker  *int      `json:"worker"`

	Method       string    `json:"method"`        // GET (default) or POST; only POST has a body
	Upload       Duration  `json:"upload"`        // from the headers to the body's last byte
	ResponseType string    `json:"response_type"` // content-type of the answers; by default application/json
	LeaveAfter   *Duration `json:"leave_after"`   // clients leave that long after they came, if not served by then
}

// Load reads and checks a scenario file, which has to expect something: without, it would
// pass whatever happens. Every error names the file and fits on one line.
func Load(file string) (*Scenario, error) {
	scenario, err := load(file)
	var unreadable *fs.PathError
	if errors.As(err, &unreadable) {
		err = unreadable.Err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quoted(file), err)
	}
	return scenario, nil
}

func load(file string) (*Scenario, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	scenario, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if len(scenario.Expect) == 0 {
		return nil, at("expect", errors.New("is missing; there should be at least one, such as {refused: {exactly: 0}}"))
	}
	return scenario, nil
}

// Parse reads and checks the text of a scenario, and fills in the defaults. Every error
// fits on one line. A scenario without expectations may be played to look at its Result.
func Parse(text []byte) (*Scenario, error) {
	if err := oneDocument(text); err != nil {
		return nil, err
	}
	raw, err := yaml.YAMLToJSONStrict(text)
	var infinite *json.UnsupportedValueError
	if errors.As(err, &infinite) {
		return nil, fmt.Errorf("given the number %s; should be a finite one", infinite.Str)
	}
	if err != nil {
		return nil, OneLine(err)
	}
	if string(raw) == "null" {
		return nil, errors.New("is empty")
	}
	s := &Scenario{}
	if err := decode(raw, reflect.ValueOf(s).Elem()); err != nil {
		return nil, err
	}
	if err := s.fillDefaults(); err != nil {
		return nil, err
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	return s, nil
}
