package sim

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// judged is a hand-made result: A was blocked from 10s to 55s, and its requests
// were these.
func judged(t *testing.T, expectation string) *Result {
	t.Helper()
	s, err := Parse([]byte(minimal + "expect: [" + expectation + "]\n"))
	require.NoError(t, err)
	chat := &s.Traffic[0]
	request := func(endpoint string, at, wait float64, outcome Outcome, status int) *Request {
		return &Request{
			Traffic: chat, Cluster: "llm", Endpoint: endpoint, Outcome: outcome, Status: status,
			Arrived: seconds(at), Complete: seconds(at), Chosen: seconds(at), FirstByte: seconds(at + wait), Ended: seconds(at + wait),
		}
	}
	held := request("", 30, 1, Left, 0)
	held.Chosen, held.FirstByte = Never, Never
	refused := request("", 31, 0, Refused, 503)
	refused.Chosen, refused.FirstByte = Never, Never
	return &Result{
		Scenario: s, Workers: 1,
		Requests: []*Request{
			request("A", 1, 8, Answered, 200),
			request("B", 2, 1, Answered, 200),
			held, refused,
			request("B", 40, 1, Answered, 500),
			request("A", 56, 2, Answered, 200),
			{Traffic: chat, Cluster: "llm", Endpoint: "B", Arrived: seconds(59), Complete: seconds(59), Chosen: seconds(59), FirstByte: Never, Ended: Never},
		},
		Blocks: []*Block{
			{Cluster: "llm", Endpoint: "A", Seen: seconds(10), Until: seconds(55), Strikes: 2, Reason: "headers", Shortened: 1},
			{Cluster: "llm", Endpoint: "B", Seen: seconds(10), Until: seconds(55), Strikes: 1, Reason: "headers", Observed: true, Lost: true},
		},
		Metrics: map[string]int64{
			"endpoint_breaker.metric.panics":                                        2,
			"endpoint_breaker.upstream.llm.model.metric.samples":                    3,
			"endpoint_breaker.upstream.llm.model.metric.samples_deduplicated":       39,
			"endpoint_breaker.upstream.llm.model.metric.bypasses_enforced":          4,
			"endpoint_breaker.upstream.somebody_elses.model.metric.blocks_enforced": 9,
		},
		PluginLog: []string{"endpoint-breaker block endpoint=A", "endpoint-breaker bypass"},
		memory: map[int][]memorySize{
			0: {{seconds(0), 1000}, {seconds(9), 1500}, {seconds(20), 1600}, {seconds(40), 1900}},
			1: {{seconds(0), 1000}, {seconds(30), 1200}},
		},
		Trapped: 1, ConfigurationsRefused: 2,
	}
}

func TestEachKindOfExpectationHoldsAndFails(t *testing.T) {
	for _, c := range []struct{ holds, fails, seen string }{
		{"{blocked: {endpoint: A, after: 10s, by: 10s}}", "{blocked: {endpoint: A, by: 9s}}", "A 10s to 55s"},
		{"{blocked: {endpoint: A, lasting: 45s}}", "{blocked: {endpoint: A, lasting: 46s}}", "A 10s to 55s"},
		{"{blocked: {endpoint: A, reason: headers}}", "{blocked: {endpoint: A, reason: in_flight}}", "headers"},
		{"{blocked: {endpoint: A, strikes: 2}}", "{blocked: {endpoint: A, strikes: 1}}", "strikes 2"},
		{"{blocked: {endpoint: A, after: 10s}}", "{blocked: {endpoint: A, after: 10001ms}}", "A 10s to 55s"},
		{"{blocked: {endpoint: B, observed: true}}", "{blocked: {endpoint: B}}", "no block"},
		{"{never_blocked: {endpoints: [B]}}", "{never_blocked: {endpoints: [B, A]}}", "A 10s to 55s"},
		{"{never_blocked: {from: 55s}}", "{never_blocked: {from: 54s}}", "A 10s to 55s"},
		{"{never_blocked: {to: 10s}}", "{never_blocked: {}}", "A 10s to 55s"},
		{"{blocks: {endpoint: A, exactly: 1}}", "{blocks: {endpoint: A, at_least: 2}}", "1: A 10s to 55s"},
		{"{blocks: {exactly: 1}}", "{blocks: {exactly: 2}}", "1: A"},
		{"{returned: {endpoint: A, by: 56s}}", "{returned: {endpoint: A, by: 55s}}", "first request at 56s"},
		{"{returned: {endpoint: A, after: 56s, by: 57s}}", "{returned: {endpoint: A, after: 57s, by: 59s}}", "no request"},
		{"{returned: {endpoint: A, by: 56s}}", "{returned: {endpoint: B, by: 59s}}", "no request"},
		{"{requests: {exactly: 7}}", "{requests: {exactly: 6}}", "7"},
		{"{requests: {from: 1s, to: 2s, exactly: 1}}", "{requests: {from: 1s, to: 2s, at_most: 0}}", "1"},
		{"{requests: {outcome: answered, exactly: 4}}", "{requests: {outcome: answered, exactly: 5}}", "4"},
		{"{requests: {outcome: unfinished, exactly: 1}}", "{requests: {outcome: unfinished, exactly: 0}}", "1"},
		{"{requests_to: {endpoint: A, exactly: 2}}", "{requests_to: {endpoint: A, at_most: 1}}", "2"},
		{"{requests_to: {endpoint: A, share_at_least: 40%, share_at_most: 40%}}", "{requests_to: {endpoint: A, share_at_least: 41%}}", "40% (2 of 5)"},
		{"{requests_to: {endpoint: B, share_at_most: 60%}}", "{requests_to: {endpoint: B, share_at_most: 59%}}", "60% (3 of 5)"},
		{"{requests_to: {endpoint: B, share_at_least: 1%}}", "{requests_to: {endpoint: B, from: 3s, to: 4s, share_at_most: 100%}}", "0 of 0"},
		{"{refused: {exactly: 2}}", "{refused: {at_most: 1}}", "1 refused, 1 held"},
		{"{refused: {from: 31s, exactly: 1}}", "{refused: {from: 31s, exactly: 0}}", "1"},
		{"{client_errors: {exactly: 2}}", "{client_errors: {exactly: 0}}", "2"},
		{"{slow_requests: {longer_than: 8s, exactly: 1}}", "{slow_requests: {longer_than: 2s, exactly: 1}}", "2"},
		{"{slow_requests: {longer_than: 1s, from: 59s, exactly: 1}}", "{slow_requests: {longer_than: 1001ms, from: 59s, exactly: 1}}", "0"},
		{"{samples_counted: {exactly: 3}}", "{samples_counted: {at_most: 2}}", "3 (besides 39 in the window of another, 0 older than a block)"},
		{"{metric: {name: panics, exactly: 2}}", "{metric: {name: panics, exactly: 0}}", "2"},
		{"{metric: {name: bypasses_enforced, cluster: llm, exactly: 4}}", "{metric: {name: bypasses_enforced, at_least: 5}}", "4"},
		{"{metric: {name: endpoint_breaker.metric.panics, exactly: 2}}", "{metric: {name: endpoint_breaker.metric.panix, exactly: 2}}", "0"},
		{"{metric: {name: blocks_enforced, exactly: 0}}", "{metric: {name: blocks_enforced, exactly: 9}}", "0"},
		{"{log_lines: {contain: bypass, exactly: 1}}", "{log_lines: {contain: endpoint-breaker, exactly: 1}}", "2"},
		{"{trapped: {exactly: 1}}", "{trapped: {exactly: 0}}", "1"},
		{"{configurations_refused: {exactly: 2}}", "{configurations_refused: {at_most: 1}}", "2"},
		{"{blocks_shortened: {exactly: 1}}", "{blocks_shortened: {exactly: 0}}", "1"},
		{"{memory_growth: {exactly: 900}}", "{memory_growth: {at_most: 899}}", "900"},
		{"{memory_growth: {from: 10s, exactly: 400}}", "{memory_growth: {from: 10s, at_most: 399}}", "400"},
		{"{memory_growth: {from: 10s, to: 40s, exactly: 200}}", "{memory_growth: {from: 41s, at_least: 1}}", "0"},
		{"{blocks_lost: {exactly: 1}}", "{blocks_lost: {exactly: 0}}", "1"},
	} {
		t.Run(c.fails, func(t *testing.T) {
			held := judged(t, c.holds).Verdicts()[0]
			assert.True(t, held.OK, held)
			failed := judged(t, c.fails).Verdicts()[0]
			assert.False(t, failed.OK, failed)
			assert.Contains(t, failed.Seen, c.seen)
		})
	}
}

func TestTrapsRefusedConfigurationsAndLostOrShortenedBlocksFailARunUnlessExpected(t *testing.T) {
	verdicts := judged(t, "{requests: {exactly: 7}}").Verdicts()
	require.Len(t, verdicts, 5)
	for _, verdict := range verdicts[1:] {
		assert.False(t, verdict.OK, verdict)
	}
	assert.Len(t, judged(t, "{trapped: {exactly: 1}}, {blocks_lost: {exactly: 1}}, {blocks_shortened: {exactly: 1}}, {configurations_refused: {exactly: 2}}").Verdicts(), 4)
}

func TestTheReportShowsBlocksRequestsExpectationsAndTheVerdict(t *testing.T) {
	var out bytes.Buffer
	result := judged(t, "{blocked: {endpoint: A}}, {refused: {at_most: 0}}")
	require.NoError(t, result.Write(&out, 1234*time.Millisecond))
	for _, want := range []string{
		"A         10s   55s    2        headers  shortened 1×",
		"(observed only) LOST",
		"A            2  40%    2s        8s        0",
		"B            3  60%    1s        >1s       0",
		"(none)       2",
		"✓ A is blocked — seen: A 10s to 55s (headers, strikes 2)",
		"✗ requests refused or held by the plugin: at most 0 — seen: 1 refused, 1 held",
		"FAIL minimal (1 of 6 expectations, simulated 1m0s in 1.23s)",
	} {
		assert.Contains(t, out.String(), want)
	}
	assert.False(t, result.Passed())
}
