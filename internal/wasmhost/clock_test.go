package wasmhost

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAllVMsReadOneClock(t *testing.T) {
	p := startProbe(t, func(o *Options) {
		o.Workers = 2
		o.Configuration = "clock"
	})
	p.clock.Advance(70 * time.Second)
	assert.Equal(t, []string{"monotonic=130000000000 wall=1767323115000000000"}, lastOf(p.run("clock")))
	s, err := p.Worker(1).NewStream(testRoute)
	require.NoError(t, err)
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-headers", "clock"), true))
	assert.Equal(t, []string{"monotonic=130000000000 wall=1767323115000000000"}, p.results())
}

func lastOf(results []string) []string { return results[len(results)-1:] }

func TestVirtualTimeStandsStillUnlessMoved(t *testing.T) {
	p := startProbe(t)
	assert.Equal(t, p.run("clock"), p.run("clock"))
}

func TestAGuestThatSleepsMovesVirtualTime(t *testing.T) {
	p := startProbe(t)
	assert.Equal(t, []string{"awake", "monotonic=61500000000 wall=1767323046500000000"}, p.run("sleep 1500; clock"))
}

func TestAMonotonicClockDoesNotGoBack(t *testing.T) {
	clock := NewVirtualClock(time.Minute, wallStart)
	clock.Advance(-time.Second)
	assert.Equal(t, time.Minute, clock.Monotonic())
	clock.JumpWall(-time.Hour)
	assert.Equal(t, time.Minute, clock.Monotonic())
	assert.Equal(t, wallStart.Add(-time.Hour), clock.Wall())
}

func TestTheRealClockMoves(t *testing.T) {
	clock := RealClock()
	before := clock.Monotonic()
	assert.GreaterOrEqual(t, before, time.Hour)
	clock.Sleep(time.Nanosecond)
	assert.Greater(t, clock.Monotonic(), before)
	assert.WithinDuration(t, time.Now(), clock.Wall(), time.Minute)
}
