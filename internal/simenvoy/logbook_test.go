package simenvoy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/envoy"
	"endpoint-breaker/internal/sim"
)

// line is one of the plugin's, so long after the run began.
func line(after time.Duration, message string) envoy.LogLine {
	return envoy.LogLine{Time: time.Unix(100, 0).Add(after), Component: "wasm", Message: "wasm log endpoint-breaker: [endpoint-breaker] [nil] " + message}
}

func blocksOf(t *testing.T, lines ...envoy.LogLine) []*sim.Block {
	t.Helper()
	r := newBlockReader(clock{time.Unix(100, 0), 20}, func(address string) string { return "name of " + address })
	for _, l := range lines {
		require.NoError(t, r.read(l))
	}
	return r.blocks
}

func TestBlocksAreReadFromTheLogInTheTimeOfTheFile(t *testing.T) {
	blocks := blocksOf(t,
		line(time.Second, `endpoint-breaker block mode=enforce cluster="llm" endpoint=127.0.0.1:1 for=2.25s strikes=1 reason=in_flight confirmed=2`),
		line(2*time.Second, `endpoint-breaker config accepted version=1`),
		line(2*time.Second, `endpoint-breaker block mode=observe cluster="llm" endpoint=127.0.0.1:1 for=1s strikes=3 reason=headers confirmed=2`),
		line(3*time.Second, `endpoint-breaker extend mode=enforce cluster="llm" endpoint=127.0.0.1:1 for=2.25s strikes=1 reason=in_flight`),
		line(4*time.Second, `endpoint-breaker extend mode=enforce cluster="llm" endpoint=127.0.0.1:1 for=250ms strikes=1 reason=in_flight`),
	)
	assert.Equal(t, []*sim.Block{
		{Cluster: "llm", Endpoint: "name of 127.0.0.1:1", Seen: 20 * time.Second, Until: 105 * time.Second, Strikes: 1, Reason: "in_flight", Extended: 2},
		{Cluster: "llm", Endpoint: "name of 127.0.0.1:1", Seen: 40 * time.Second, Until: 60 * time.Second, Strikes: 3, Reason: "headers", Observed: true},
	}, blocks)
}

// A block begins only when the one before is over, whatever that one had said.
func TestANewBlockEndsTheOneBefore(t *testing.T) {
	blocks := blocksOf(t,
		line(time.Second, `endpoint-breaker block mode=enforce cluster="llm" endpoint=A for=10s strikes=1 reason=in_flight`),
		line(2*time.Second, `endpoint-breaker block mode=enforce cluster="llm" endpoint=A for=1s strikes=2 reason=in_flight`),
	)
	require.Len(t, blocks, 2)
	assert.Equal(t, 40*time.Second, blocks[0].Until)
}

func TestALineAboutABlockThatCannotBeReadIsAnError(t *testing.T) {
	r := newBlockReader(clock{scale: 1}, nil)
	require.Error(t, r.read(line(0, "endpoint-breaker block host=A")))
}

func TestOnlyWhatVMsSayUpToTheEndIsKept(t *testing.T) {
	b := &logBook{}
	b.add(line(time.Second, "in time"))
	b.add(line(2*time.Second, "too late"))
	b.add(envoy.LogLine{Time: time.Unix(100, 0), Component: "config", Message: "not a VM's"})
	got := b.until(clock{time.Unix(100, 0), 20}, sim.Duration(20*time.Second))
	require.Len(t, got, 1)
	assert.Contains(t, got[0].Message, "in time")
}
