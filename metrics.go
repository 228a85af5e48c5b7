package main

import "github.com/higress-group/proxy-wasm-go-sdk/proxywasm"

// Metric names. Those of a cluster are built so that the tag rules in Higress's bootstrap
// (`.upstream.<cluster>.model`) take the cluster out of the name as the label ai_cluster;
// Envoy puts `wasmcustom.` in front of all.
const (
	gatewayMetricPrefix = "endpoint_breaker.metric."
	clusterMetricPrefix = "endpoint_breaker.upstream."
	clusterMetricMiddle = ".model.metric."
)

// Counters of the gateway.
const (
	metricPanics            = "panics"              // callbacks that panicked and let the request pass
	metricHostCallErrors    = "host_call_errors"    // host calls that failed
	metricCASConflicts      = "cas_conflicts"       // lost races for the blocklist
	metricCASGiveUps        = "cas_give_ups"        // writes that lost too many of them
	metricSharedDataDamaged = "shared_data_damaged" // stored values that could not be believed
)

// Counters of a cluster.
const (
	metricSamples             = "samples"              // that counted
	metricSamplesDeduplicated = "samples_deduplicated" // swallowed by the dedup window
	metricSamplesStale        = "samples_stale"        // from before the latest block
	metricSamplesUnattributed = "samples_unattributed" // nobody can say whose
	metricOverridesMissed     = "overrides_missed"     // late answers from another host than asked for
)

// Decisions of a cluster; counted apart for enforce and observe.
const (
	metricBlocks         = "blocks"
	metricExtensions     = "extensions"
	metricOverrides      = "overrides"
	metricBypasses       = "bypasses"
	metricCappedRequests = "capped_requests" // max_blocked_percent let a blocked host back in
	metricProbes         = "probes"          // to endpoints on probation
)

// meters are the counters of one VM. Envoy gives the same counter to all VMs that define the
// same name, so a value is the gateway's, not a worker's.
type meters struct {
	ids map[meterKey]proxywasm.MetricCounter
}

// meterKey names a counter without building its name, which only its first use needs.
type meterKey struct {
	name, cluster string
	of            verdictKind
}

// verdictKind tells decisions that steered from those that were only observed.
type verdictKind string

const (
	notAVerdict verdictKind = ""
	enforced    verdictKind = "_enforced"
	observed    verdictKind = "_observed"
)

func newMeters() *meters { return &meters{ids: map[meterKey]proxywasm.MetricCounter{}} }

// gateway adds to a counter without labels.
func (m *meters) gateway(name string, by int) { m.add(meterKey{name: name}, by) }

// cluster adds one to a counter of the cluster.
func (m *meters) cluster(name, cluster string) { m.add(meterKey{name: name, cluster: cluster}, 1) }

// decision adds one to what a rule decided for the cluster.
func (m *meters) decision(name string, r *rule, cluster string) {
	of := enforced
	if r.observes() {
		of = observed
	}
	m.add(meterKey{name, cluster, of}, 1)
}

func (m *meters) add(key meterKey, by int) {
	if by == 0 {
		return
	}
	// The SDK panics when the host refuses; a counter that does not move is no reason to.
	defer func() { _ = recover() }()
	id, defined := m.ids[key]
	if !defined {
		id = proxywasm.DefineCounterMetric(key.metric())
		m.ids[key] = id
	}
	id.Increment(uint64(by))
}

func (k meterKey) metric() string {
	if k.cluster == "" {
		return gatewayMetricPrefix + k.name
	}
	return clusterMetricPrefix + k.cluster + clusterMetricMiddle + k.name + string(k.of)
}
