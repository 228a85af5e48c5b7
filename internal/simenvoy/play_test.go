package simenvoy_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/plugintest"
	"endpoint-breaker/internal/sim"
	"endpoint-breaker/internal/simenvoy"
)

// endings is a scenario in which requests end in every way, and every kind of event that can be
// played happens.
const endings = `
name: endings
duration: 40s
workers: 2
plugin: {slow_threshold: 8s, block_ttl: 10s}
clusters:
  - name: outbound|443||llm.dns
    endpoints:
      - {name: A, address: 10.0.0.1:8000, latency: [{from: 0s, headers: 1s, first_chunk: 2s, total: 3s, status: 201}, {from: 10s, hang: true}]}
      - {name: B, address: 10.0.0.2:8000, latency: 1s, absent: true}
      - {name: C, address: 10.0.0.3:8000, latency: [{from: 0s, headers: 1s, total: 20s}], absent: true}
routes:
  - {name: patient}
  - {name: short, timeout: 5s, domain: "short.example.com:8080"}
traffic:
  - {name: answered, route: patient, burst: 1, worker: 1, method: POST, upload: 2s, response_type: text/event-stream}
  - {name: times-out, route: short, from: 10s, burst: 1}
  - {name: leaves, route: patient, from: 11s, burst: 1, leave_after: 4s, method: POST}
  - {name: on-b, route: patient, from: 22s, burst: 4}
  - {name: cut-off, route: short, from: 26s, burst: 1}
  - {name: nowhere, route: patient, from: 36s, burst: 1}
  - {name: waits, route: patient, from: 12s, burst: 1}
events:
  - {at: 18s, add: {endpoints: [B]}}
  - {at: 19s, order: {endpoints: [B]}}
  - {at: 20s, remove: {endpoints: [A]}}
  - {at: 21s, configure: {plugin: {slow_threshold: 70}}}
  - {at: 24s, add: {endpoints: [C]}}
  - {at: 24s, remove: {endpoints: [B]}}
  - {at: 33s, configure: {plugin: {slow_threshold: 9s}}}
  - {at: 34s, remove: {endpoints: [C]}}
`

func TestAScenarioPassesOnARealEnvoyAsItWouldInVirtualTime(t *testing.T) {
	plugintest.EnvoyBinary(t)
	s, err := sim.Parse([]byte(endings))
	require.NoError(t, err)
	var log bytes.Buffer
	moments := 0
	r, err := simenvoy.Play(t.Context(), s, simenvoy.Options{
		Wasm: plugintest.EnvoyPath(t), Workers: 2, Scale: 5, Log: &log, Progress: func(time.Duration) { moments++ },
	})
	require.NoError(t, err)
	virtual, err := sim.Run(t.Context(), s, sim.Options{Wasm: plugintest.Wasm(t), Workers: 2})
	require.NoError(t, err)
	require.Len(t, r.Requests, len(virtual.Requests))
	for i, q := range r.Requests {
		want := virtual.Requests[i]
		name := q.Traffic.Name
		assert.Equal(t, want.Number, q.Number)
		assert.Equal(t, want.Outcome, q.Outcome, name)
		assert.Equal(t, want.Status, q.Status, name)
		assert.Equal(t, want.Endpoint, q.Endpoint, name)
		assert.Equal(t, want.Worker, q.Worker, name)
		assert.Equal(t, want.Arrived, q.Arrived, name)
		for what, moments := range map[string][2]time.Duration{
			"complete": {want.Complete, q.Complete}, "chosen": {want.Chosen, q.Chosen},
			"first byte": {want.FirstByte, q.FirstByte}, "ended": {want.Ended, q.Ended},
		} {
			assert.InDelta(t, moments[0], moments[1], float64(r.Tolerance.Base), "%s: %s", name, what)
		}
	}
	assert.Equal(t, 1, r.ConfigurationsRefused)
	assert.Zero(t, r.Trapped)
	assert.Positive(t, moments)
	assert.Contains(t, log.String(), "event add B\n")
	assert.Contains(t, log.String(), "w1 #1 goes to A\n")
	assert.Contains(t, log.String(), "configuration refused\n")
	assert.Contains(t, log.String(), "endpoint-breaker config refused: slow_threshold: got 70")
}

func TestAConfigurationThatThePluginRefusesAtTheStartIsAnError(t *testing.T) {
	plugintest.EnvoyBinary(t)
	s, err := sim.Parse([]byte(endings))
	require.NoError(t, err)
	s.Plugin = []byte(`{"slow_threshold":70}`)
	_, err = simenvoy.Play(t.Context(), s, simenvoy.Options{Wasm: plugintest.EnvoyPath(t), Workers: 1, Scale: 5})
	require.ErrorContains(t, err, "plugin.slow_threshold: got 70")
}
