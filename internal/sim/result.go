package sim

import (
	"strings"
	"time"
)

// Result is what a run brought.
type Result struct {
	Scenario *Scenario
	Workers  int
	Requests []*Request // in the order of their arrival
	Blocks   []*Block   // in the order in which they began
	Trapped  int        // VMs that have trapped

	Metrics   map[string]int64 // the plugin's at the end, by their full names
	PluginLog []string         // the plugin's lines

	// Gateway is what it was played on, for the report; "" = the embedded one in virtual time.
	Gateway   string
	Tolerance Tolerance
	// Unseen are the kinds of expectations about which the gateway shows nothing, and why.
	Unseen map[string]string

	ConfigurationsRefused int
	whyRefused            []string // when and why, the first few

	memory map[int][]memorySize // by worker, the base VM too; only where it changed
}

// NewResult is a run that has brought nothing yet.
func NewResult(s *Scenario, workers int) *Result {
	return &Result{Scenario: s, Workers: workers, Metrics: map[string]int64{}, memory: map[int][]memorySize{}}
}

// Request is one request and what became of it. Moments that did not come are
// later than any other.
type Request struct {
	Number     int
	Traffic    *Traffic
	Cluster    string
	Worker     int
	Endpoint   string // its name; "" = the request reached none
	Overridden bool   // the plugin chose the endpoint
	Arrived    time.Duration
	Complete   time.Duration // its last byte was here
	Chosen     time.Duration // its endpoint was chosen
	FirstByte  time.Duration // of the response's body
	Ended      time.Duration
	Outcome    Outcome
	Status     int // that the client saw; 0 = none
}

// Outcome is how a request ended.
type Outcome string

// The ways in which a request can end.
const (
	Unfinished Outcome = ""         // the run was over first
	Answered   Outcome = "answered" // by its endpoint
	TimedOut   Outcome = "timed out"
	Left       Outcome = "client left"
	Refused    Outcome = "refused" // by the plugin
	NoHost     Outcome = "no healthy host"
)

// Waited is how long the client had waited for the first byte of the body since
// its request was complete, when the byte came, the request ended or the given
// moment was there. It is 0 for a request that never was complete.
func (r *Request) Waited(now time.Duration) time.Duration {
	if r.Complete == Never {
		return 0
	}
	return min(r.FirstByte, r.Ended, now) - r.Complete
}

// waits reports whether the request still had no first byte when the run was over.
func (r *Request) waits() bool {
	return r.Complete != Never && r.FirstByte == Never && r.Ended == Never
}

// Held reports whether the plugin's filter kept a complete request back, so that
// it never reached the router.
func (r *Request) Held() bool {
	return r.Complete != Never && r.Chosen == Never && r.Outcome != Refused && r.Outcome != NoHost
}

// Metric is the value of one of the plugin's metrics at the end of the run: by
// its full name, or by the short one of those that Metrics lists. A short name
// of a cluster's metric without a cluster is the sum over all of them.
func (r *Result) Metric(name, cluster string) int64 {
	if strings.Contains(name, ".") {
		return r.Metrics[name]
	}
	if cluster != "" {
		return r.Metrics[clusterMetric(cluster, name)]
	}
	sum := r.Metrics["endpoint_breaker.metric."+name]
	for _, c := range r.Scenario.Clusters {
		sum += r.Metrics[clusterMetric(c.Name, name)]
	}
	return sum
}

func clusterMetric(cluster, name string) string {
	return "endpoint_breaker.upstream." + cluster + ".model.metric." + name
}

// memorySize is how large a VM's memory was from a moment on.
type memorySize struct {
	at    time.Duration
	bytes uint64
}

// noteMemory remembers a VM's size if it has changed, and reports whether it has. A VM that has trapped has
// none.
func (r *Result) noteMemory(worker int, now time.Duration, bytes uint64) (changed bool) {
	sizes := r.memory[worker]
	if bytes == 0 || len(sizes) > 0 && sizes[len(sizes)-1].bytes == bytes {
		return false
	}
	r.memory[worker] = append(sizes, memorySize{now, bytes})
	return true
}

// memoryGrowth is by how many bytes the memory of the VM grew that grew most in
// the window. What it had reached before the window is no growth.
func (r *Result) memoryGrowth(w Window) uint64 {
	most := uint64(0)
	for _, sizes := range r.memory {
		before := sizes[0].bytes
		for _, size := range sizes {
			switch {
			case size.at < w.from():
				before = size.bytes
			case size.at < w.to():
				most = max(most, size.bytes-before)
			}
		}
	}
	return most
}

// end is the moment at which the run was over.
func (r *Result) end() time.Duration { return time.Duration(r.Scenario.Duration) }
