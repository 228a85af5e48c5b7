package sim

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// seenWith is what an expectation says that it saw in a run with these blocks besides the
// one of A from 10s to 55s.
func seenWith(t *testing.T, expectation string, blocks ...*Block) Verdict {
	t.Helper()
	result := judged(t, expectation)
	result.Blocks = append(result.Blocks, blocks...)
	return result.Verdicts()[0]
}

func blockOfA(from, until float64, strikes int, reason string) *Block {
	return &Block{Cluster: "llm", Endpoint: "A", Seen: seconds(from), Until: seconds(until), Strikes: strikes, Reason: reason}
}

func TestAVerdictShowsTheBlockThatMatches(t *testing.T) {
	second := blockOfA(57, 58, 3, "in_flight")
	third := blockOfA(58, 59, 4, "in_flight")
	assert.Equal(t, "A 57s to 58s (in_flight, strikes 3), and 1 other", seenWith(t, "{blocked: {endpoint: A, after: 56s}}", second).Seen)
	assert.Equal(t, "A 57s to 58s (in_flight, strikes 3), and 2 others", seenWith(t, "{blocked: {endpoint: A, reason: in_flight}}", second, third).Seen)
}

func TestAVerdictShowsTheNearestBlockWhenNoneMatches(t *testing.T) {
	blocks := []*Block{blockOfA(57, 58, 3, "in_flight"), blockOfA(59, 60, 4, "in_flight")}
	for expectation, seen := range map[string]string{
		"{blocked: {endpoint: A, after: 20s, by: 56s}}":               "A 57s to 58s (in_flight, strikes 3), the nearest of 3",
		"{blocked: {endpoint: A, by: 9s}}":                            "A 10s to 55s (headers, strikes 2), the nearest of 3",
		"{blocked: {endpoint: A, after: 59500ms}}":                    "A 59s to 1m0s (in_flight, strikes 4), the nearest of 3",
		"{blocked: {endpoint: A, reason: in_flight, strikes: 2}}":     "A 10s to 55s (headers, strikes 2), the nearest of 3",
		"{blocked: {endpoint: A, lasting: 1s, strikes: 5}}":           "A 57s to 58s (in_flight, strikes 3), the nearest of 3",
		"{blocked: {endpoint: A, after: 58s, lasting: 2s}}":           "A 59s to 1m0s (in_flight, strikes 4), the nearest of 3",
		"{blocked: {endpoint: B, after: 58s, by: 59s, lasting: 45s}}": "no block",
	} {
		verdict := seenWith(t, expectation, blocks...)
		assert.False(t, verdict.OK, expectation)
		assert.Equal(t, seen, verdict.Seen, expectation)
	}
}

func TestAVerdictShowsTheFirstOfTheBlocksThatItCounts(t *testing.T) {
	earlier := blockOfA(3, 4, 1, "headers")
	assert.Equal(t, "A 3s to 4s (headers, strikes 1), and 1 other", seenWith(t, "{never_blocked: {}}", earlier).Seen)
	assert.Equal(t, "2: A 3s to 4s (headers, strikes 1), and 1 other", seenWith(t, "{blocks: {exactly: 2}}", earlier).Seen)
}

func TestTheReportMarksWaitsThatTheEndOfTheRunCutsOff(t *testing.T) {
	waits := []wait{{seconds(3), true}, {seconds(1), false}, {seconds(3), false}, {seconds(2), false}}
	row := judged(t, "{trapped: {exactly: 1}}").endpointRow("A", waits, 4)
	assert.Equal(t, []string{"A", "4", "100%", "2s", ">3s", "0"}, row)
}

func TestARequestWaitsOnOnlyWhenItIsCompleteAndNothingHasCome(t *testing.T) {
	assert.True(t, (&Request{Complete: 1, FirstByte: Never, Ended: Never}).waits())
	assert.False(t, (&Request{Complete: Never, FirstByte: Never, Ended: Never}).waits())
	assert.False(t, (&Request{Complete: 1, FirstByte: 2, Ended: Never}).waits())
	assert.False(t, (&Request{Complete: 1, FirstByte: Never, Ended: 2}).waits())
}

func TestTheReportSaysWhyAFailureMattersWhenTheFileDoes(t *testing.T) {
	for description, line := range map[string]string{"": "", "Two\n lines.": "\n  why it matters: Two lines.\n"} {
		var out bytes.Buffer
		result := judged(t, "{refused: {exactly: 0}}")
		result.Scenario.Description = description
		require.NoError(t, result.Write(&out, 0))
		if line == "" {
			assert.NotContains(t, out.String(), "why it matters")
		}
		assert.Contains(t, out.String(), line)
	}
}
