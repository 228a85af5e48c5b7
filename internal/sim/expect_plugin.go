package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// gatewayMetrics and clusterMetrics are the short names of the plugin's metrics.
func gatewayMetrics() []string {
	return []string{"panics", "host_call_errors", "cas_conflicts", "cas_give_ups", "shared_data_damaged"}
}

func clusterMetrics() []string {
	return []string{
		"samples", "samples_deduplicated", "samples_stale", "samples_unattributed", "overrides_missed",
		"blocks_enforced", "blocks_observed", "extensions_enforced", "extensions_observed",
		"overrides_enforced", "overrides_observed", "bypasses_enforced", "bypasses_observed",
		"capped_requests_enforced", "capped_requests_observed",
	}
}

// MetricValue expects the value of one of the plugin's metrics at the end.
type MetricValue struct {
	Name    string `json:"name"`    // a short name, such as samples, or a full one with its dots
	Cluster string `json:"cluster"` // for a short name of a cluster's metric; by default the sum over all clusters
	Bounds
}

func (e *MetricValue) validate(s *Scenario) error {
	return firstOf(at("name", e.validateName()), at("cluster", validCluster(e.Cluster, s)), e.Bounds.validate())
}

// validateName refuses unknown short names: their value would always be 0.
func (e *MetricValue) validateName() error {
	if strings.Contains(e.Name, ".") {
		return printable(e.Name)
	}
	if e.Cluster != "" && slices.Contains(gatewayMetrics(), e.Name) {
		return fmt.Errorf("%s belongs to the whole gateway, not to a cluster", e.Name)
	}
	return oneOf(e.Name, slices.Concat(gatewayMetrics(), clusterMetrics())...)
}

func (e *MetricValue) check(r *Result) Verdict {
	what := "metric " + e.Name
	if e.Cluster != "" {
		what += " of " + e.Cluster
	}
	return e.verdict(r.tallyOfMetric(e.Name, r.Metric(e.Name, e.Cluster)), what)
}

// SamplesCounted expects how many samples counted: those that neither the
// de-duplication window swallowed nor a newer block made void.
type SamplesCounted struct {
	Cluster string `json:"cluster"` // by default all
	Bounds
}

func (e *SamplesCounted) validate(s *Scenario) error {
	return firstOf(at("cluster", validCluster(e.Cluster, s)), e.Bounds.validate())
}

func (e *SamplesCounted) check(r *Result) Verdict {
	verdict := e.verdict(exactly(r.Metric("samples", e.Cluster)), "samples counted")
	verdict.Seen += fmt.Sprintf(
		" (besides %d in the window of another, %d older than a block)",
		r.Metric("samples_deduplicated", e.Cluster), r.Metric("samples_stale", e.Cluster),
	)
	return verdict
}

// LogLines expects how many lines of the plugin's log contain a text.
type LogLines struct {
	Contain string `json:"contain"`
	Bounds
}

func (e *LogLines) validate(*Scenario) error {
	if e.Contain == "" {
		return at("contain", errors.New("is missing"))
	}
	return e.Bounds.validate()
}

func (e *LogLines) check(r *Result) Verdict {
	n := int64(0)
	for _, line := range r.PluginLog {
		if strings.Contains(line, e.Contain) {
			n++
		}
	}
	return e.verdict(exactly(n), fmt.Sprintf("log lines with %q", e.Contain))
}

// Trapped expects how many VMs trap. None may, unless a fault makes them.
type Trapped struct{ Bounds }

func (e *Trapped) validate(*Scenario) error { return e.Bounds.validate() }

func (e *Trapped) check(r *Result) Verdict {
	return e.verdict(exactly(int64(r.Trapped)), "VMs that trapped")
}

// MemoryGrowth expects by how many bytes the memory of any one VM grows in the
// window, as its ticks show it. A VM's memory never gets smaller.
type MemoryGrowth struct {
	Window
	Bounds
}

func (e *MemoryGrowth) validate(s *Scenario) error {
	return firstOf(e.Window.validate(s.Duration), e.Bounds.validate())
}

func (e *MemoryGrowth) check(r *Result) Verdict {
	return e.verdict(exactly(int64(r.memoryGrowth(e.Window))), "bytes by which a VM grows"+e.Window.String())
}

// ConfigurationsRefused expects how many configure events the plugin refuses.
type ConfigurationsRefused struct{ Bounds }

func (e *ConfigurationsRefused) validate(*Scenario) error {
	return e.Bounds.validate()
}

func (e *ConfigurationsRefused) check(r *Result) Verdict {
	verdict := e.verdict(exactly(int64(r.ConfigurationsRefused)), "configurations refused")
	if len(r.whyRefused) == 0 {
		return verdict
	}
	verdict.Seen += ": " + strings.Join(r.whyRefused, "; ")
	if more := r.ConfigurationsRefused - len(r.whyRefused); more > 0 {
		verdict.Seen += fmt.Sprintf("; and %d more", more)
	}
	return verdict
}

func validCluster(name string, s *Scenario) error {
	if name == "" {
		return nil
	}
	return s.knowsCluster(name)
}
