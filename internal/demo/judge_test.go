package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

// good is a story in which everything holds: fault at 5 s, block from 12.6 s to
// 17.1 s, end at 22 s. Requests come every 100 ms and take turns over the endpoints;
// while b is blocked, over the other two.
func good(t *testing.T) *Recording {
	t.Helper()
	plan, err := NewPlan(10)
	require.NoError(t, err)
	r := &Recording{
		Plan: plan, Endpoints: []string{"a", "b", "c"}, Slow: "b",
		Fault: 5 * time.Second, Heal: 15 * time.Second, End: 22 * time.Second,
		Blocks: []Block{{
			Endpoint: "b", Since: 12_600 * ms, Seen: 12_602 * ms, Until: 17_100 * ms,
			Strikes: 1, Reason: "in_flight",
		}},
	}
	for i := range 220 {
		sent := time.Duration(i) * 100 * ms
		request := Request{Endpoint: r.Endpoints[i%3], Sent: sent, DecisionBegan: sent + ms, DecisionEnded: sent + 2*ms, Latency: 150 * ms}
		switch phase := r.PhaseOf(request); {
		case phase == Blocked:
			request.Endpoint = []string{"a", "c"}[i%2]
		case phase == Slow && request.Endpoint == "b":
			request.Latency = 9500 * ms
		}
		r.Requests = append(r.Requests, request)
	}
	return r
}

// add puts one more request at the end of the story.
func (r *Recording) add(endpoint string, decision time.Duration) {
	r.Requests = append(r.Requests, Request{Endpoint: endpoint, Sent: decision, DecisionBegan: decision, DecisionEnded: decision + ms})
}

func TestAGoodStoryMeetsEveryCondition(t *testing.T) {
	var lines []string
	for _, finding := range Judge(good(t)) {
		lines = append(lines, finding.String())
	}
	assert.Equal(t, []string{
		"✓ b was blocked once, 7.4 s after the first of 25 requests got stuck there (threshold 7.0 s, bound 11.6 s)",
		"✓ none of the other 2 endpoints was ever blocked",
		"✓ while it was blocked (12.6 s – 17.1 s), b got 0 of 44 new requests",
		"✓ it came back: 0.1 s after the block it got a request, 16 of 49 from then on, P50 150 ms",
		"✓ 0 of 220 requests failed",
	}, lines)
}

func TestEachConditionFailsAlone(t *testing.T) {
	cases := map[string]struct {
		spoil func(*Recording)
		says  string
	}{
		"blocked too late": {
			func(r *Recording) {
				r.Blocks[0].Since += 5 * time.Second
				r.Blocks[0].Seen += 5 * time.Second
				r.Blocks[0].Until += 5 * time.Second
				r.End += 5 * time.Second
				for i := range r.Requests { // the story goes on as before, five seconds later
					if r.Requests[i].DecisionBegan > 12_602*ms {
						r.Requests[i].DecisionBegan += 5 * time.Second
						r.Requests[i].DecisionEnded += 5 * time.Second
					}
				}
			},
			"✗ b was blocked once, 12.4 s after",
		},
		"blocked again": {
			func(r *Recording) { r.Blocks = append(r.Blocks, Block{Endpoint: "b", Since: 20 * time.Second}) },
			"✗ b was blocked 2 times",
		},
		"another endpoint blocked": {
			func(r *Recording) { r.Blocks = append(r.Blocks, Block{Endpoint: "c", Since: 6 * time.Second}) },
			"✗ blocked too, although healthy: c at 6.0 s",
		},
		"a request while blocked": {
			func(r *Recording) { r.add("b", 13*time.Second) },
			"✗ while it was blocked (12.6 s – 17.1 s), b got 1 of 45 new requests",
		},
		"it never came back": {
			func(r *Recording) {
				for i, request := range r.Requests {
					if r.PhaseOf(request) == Returned {
						r.Requests[i].Endpoint = "a"
					}
				}
			},
			"✗ after the block b got none of 49 requests",
		},
		"a client got an error": {
			func(r *Recording) { r.Requests[7].Failure = "503 Service Unavailable" },
			"✗ 1 of 220 requests failed, the first with: 503 Service Unavailable",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := good(t)
			c.spoil(r)
			var failed []string
			for _, finding := range Judge(r) {
				if !finding.OK {
					failed = append(failed, finding.String())
				}
			}
			require.Len(t, failed, 1)
			assert.True(t, strings.HasPrefix(failed[0], c.says), failed[0])
		})
	}
}

// inexactly is good with a block whose end is known to within half a second.
func inexactly(t *testing.T) *Recording {
	t.Helper()
	r := good(t)
	r.Blocks[0].Inexact = 500 * ms
	return r
}

func TestADecisionBeforeAnInexactEndBelongsToNeitherSide(t *testing.T) {
	r := inexactly(t)
	r.add("b", 16_700*ms)
	for _, finding := range Judge(r) {
		assert.True(t, finding.OK, finding.Text)
	}
	assert.Contains(t, Judge(r)[3].Text, "16 of 49 from then on", "as without it")

	r.add("b", 16_500*ms)
	assert.False(t, Judge(r)[2].OK, "the block certainly held")
}

func TestWithoutABlockNothingElseIsClaimed(t *testing.T) {
	r := good(t)
	r.Blocks = nil
	findings := Judge(r)
	assert.Equal(t, "✗ b was never blocked, 17.0 s after it turned slow", findings[0].String())
	assert.Equal(t, "✗ b was never avoided: there was no block", findings[2].String())
	assert.Equal(t, "✗ b never came back: there was no block", findings[3].String())
}

func TestWithoutRequestsNothingIsProven(t *testing.T) {
	r := good(t)
	r.Requests = nil
	for i, finding := range Judge(r) {
		assert.Equal(t, i == 1, finding.OK, finding.String())
	}
}

func TestADecisionCountsAsBlockedOnlyWhenTheBlockWasThereAllTheTime(t *testing.T) {
	r := good(t)
	for name, c := range map[string]struct {
		began, ended time.Duration
		want         Phase
	}{
		"before the fault":            {4 * time.Second, 4 * time.Second, Healthy},
		"as the block was written":    {12_601 * ms, 12_603 * ms, Slow},
		"as soon as it could be seen": {12_602 * ms, 12_603 * ms, Blocked},
		"up to its end":               {17_098 * ms, 17_099 * ms, Blocked},
		"across its end":              {17_099 * ms, 17_101 * ms, Returned},
		"at its end":                  {17_100 * ms, 17_100 * ms, Returned},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, r.PhaseOf(Request{DecisionBegan: c.began, DecisionEnded: c.ended}))
		})
	}
}
