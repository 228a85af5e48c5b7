package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/envoy"
)

// reading is Envoy's log as it is understood.
type reading struct {
	envoyLog
	witness
	traps []error
}

func newReading() *reading {
	r := &reading{}
	r.envoyLog = envoyLog{observer: &r.witness, trapped: func(err error) { r.traps = append(r.traps, err) }, blocks: map[string]seenBlock{}}
	return r
}

// says is a line of the plugin, written as a warning.
func (r *reading) says(at time.Time, text string) {
	r.read(envoy.LogLine{Time: at, Level: "warning", Component: "wasm", Message: "wasm log endpoint-breaker: [endpoint-breaker] [nil] [7] " + text})
}

func TestABlockIsReadFromEnvoysLogWithTheTimeOfTheLine(t *testing.T) {
	r := newReading()
	r.says(afterZero(5), `endpoint-breaker block mode=enforce cluster="c" endpoint=10.0.0.2:80 for=4.5s strikes=1 reason=in_flight confirmed=2`)
	want := seenBlock{
		address: "10.0.0.2:80", since: afterZero(5), until: afterZero(5 + 4500*ms), inexact: inexact, seen: afterZero(5),
		strikes: 1, reason: "in_flight",
	}
	assert.Equal(t, []seenBlock{want}, r.witness.blocks)
	assert.Equal(t, []string{`log of Envoy: endpoint-breaker block mode=enforce cluster="c" endpoint=10.0.0.2:80 for=4.5s strikes=1 reason=in_flight confirmed=2`}, r.logs)

	r.says(afterZero(2000*ms), `endpoint-breaker extend mode=enforce cluster="c" endpoint=10.0.0.2:80 for=4.5s strikes=1 reason=headers`)
	want.until = afterZero(6500 * ms)
	assert.Equal(t, want, r.witness.blocks[1], "an extension moves the end and nothing else")

	again := afterZero(9000 * ms)
	r.says(again, `endpoint-breaker block mode=enforce cluster="c" endpoint=10.0.0.2:80 for=4.5s strikes=2 reason=headers confirmed=2`)
	assert.Equal(t, again, r.witness.blocks[2].since)
}

func TestWhatSteersNothingInEnvoysLogIsNoBlock(t *testing.T) {
	r := newReading()
	r.says(afterZero(1), `endpoint-breaker block mode=observe cluster="c" endpoint=10.0.0.2:80 for=4.5s strikes=1 reason=headers confirmed=2`)
	r.says(afterZero(2), `endpoint-breaker bypass mode=enforce cluster="c": too few endpoints are left, Envoy balances over all`)
	assert.Empty(t, r.witness.blocks)
	assert.Len(t, r.logs, 2)
	assert.Empty(t, r.trouble)
}

func TestABlockInEnvoysLogThatCannotBeReadIsTrouble(t *testing.T) {
	r := newReading()
	r.says(afterZero(1), "endpoint-breaker block of gpu-b")
	require.Len(t, r.trouble, 1)
	require.ErrorContains(t, r.trouble[0], "endpoint-breaker block of gpu-b")
}

func TestOfEnvoysLogOnlyThePluginsWarningsAreKept(t *testing.T) {
	r := newReading()
	r.read(envoy.LogLine{Level: "info", Component: "wasm", Message: "wasm log endpoint-breaker: [endpoint-breaker] [nil] [nil] endpoint-breaker config accepted"})
	r.read(envoy.LogLine{Level: "error", Component: "upstream", Message: "another part of Envoy"})
	r.read(envoy.LogLine{Level: "error", Component: "wasm", Message: "wasm log endpoint-breaker: panic: oh"})
	assert.Equal(t, []string{"log of Envoy: wasm log endpoint-breaker: panic: oh"}, r.logs)
	assert.Empty(t, r.traps)
}

func TestAVMThatEnvoyGivesUpIsATrap(t *testing.T) {
	r := newReading()
	r.read(envoy.LogLine{Level: "warning", Component: "wasm", Message: "a remark"})
	r.read(envoy.LogLine{Level: "error", Component: "wasm", Message: "Function: proxy_on_tick failed: Uncaught RuntimeError: unreachable"})
	require.Len(t, r.traps, 1)
	require.EqualError(t, r.traps[0], "log of Envoy: Function: proxy_on_tick failed: Uncaught RuntimeError: unreachable")
}
