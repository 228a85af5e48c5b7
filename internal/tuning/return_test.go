package tuning

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/plugintest"
	"endpoint-breaker/internal/sim"
)

// inTurn are four requests a second for so many seconds, one for each of A, B, C and D, but that
// those for which A is out go to B.
func inTurn(seconds int, out func(second int) bool) []*sim.Request {
	var all []*sim.Request
	for second := range seconds {
		for i := range returnHosts {
			host := string(rune('A' + i))
			if i == 0 && out(second) {
				host = "B"
			}
			at := time.Duration(second)*time.Second + time.Duration(i)*time.Second/returnHosts
			all = append(all, &sim.Request{Arrived: at, Endpoint: host})
		}
	}
	return all
}

func TestTheTimeToTheFullShareEndsWithTheLastTimeOut(t *testing.T) {
	const heals = 100
	for name, c := range map[string]struct {
		out  func(second int) bool
		took wait
		kept int
	}{
		"never out":              {func(int) bool { return false }, 0, 0},
		"out before it heals":    {func(s int) bool { return s < heals }, 0, 0},
		"still out":              {func(s int) bool { return s < heals+45 }, wait(45 * time.Second), 45},
		"out again":              {func(s int) bool { return s >= heals+60 && s < heals+105 }, wait(105 * time.Second), 45},
		"single requests":        {func(s int) bool { return s < heals+80 && s%20 > 0 }, wait(80 * time.Second), 76},
		"one of them elsewhere":  {func(s int) bool { return s == heals+90 }, 0, 0},
		"for ever":               {func(s int) bool { return s >= heals }, never, 400},
		"out again near the end": {func(s int) bool { return s >= 460 }, never, 40},
	} {
		t.Run(name, func(t *testing.T) {
			took, kept := recovery(inTurn(500, c.out), "A", heals*time.Second)
			assert.Equal(t, c.took, took, "%s", time.Duration(took))
			assert.Equal(t, c.kept, kept)
		})
	}
}

func TestOnProbationAHostIsOutUntilTheNextBlock(t *testing.T) {
	blocks := []*sim.Block{
		{Seen: 2 * time.Minute, Until: 3 * time.Minute},
		{Seen: 5 * time.Minute, Until: faultEnds + time.Hour},
	}
	assert.Equal(t, []spell{
		{2 * time.Minute, 3 * time.Minute, 3 * time.Minute}, {5 * time.Minute, faultEnds, faultEnds},
	}, spells(blocks, false))
	assert.Equal(t, []spell{
		{2 * time.Minute, 3 * time.Minute, 5 * time.Minute}, {5 * time.Minute, faultEnds, faultEnds},
	}, spells(blocks, true))
	assert.Equal(t, []spell{{2 * time.Minute, 3 * time.Minute, faultEnds}}, spells(blocks[:1], true), "the fault is over first")
}

// What the table calls probation is so in the traffic: a worker's requests to the host are at
// least the threshold apart.
func TestOnProbationAWorkerSendsOneRequestAtATime(t *testing.T) {
	s := single(configuration{probation()}, 10*time.Minute, step{warmUp, slowAnswer})
	result, err := s.play(t.Context(), plugintest.Wasm(t), 1)
	require.NoError(t, err)
	host := s.clusters[0].host(0)
	found := spells(blocksOf(result, host), true)
	require.Greater(t, len(found), 3)
	last := map[int]time.Duration{}
	probes := 0
	for _, request := range requestsOf(result, s.clusters[0]) {
		if request.Endpoint != host || request.Chosen < found[0].from {
			continue
		}
		probes++
		if before, known := last[request.Worker]; known {
			assert.GreaterOrEqual(t, request.Chosen-before, threshold)
		}
		last[request.Worker] = request.Chosen
	}
	assert.GreaterOrEqual(t, probes, len(found)-1)
}

func TestTheWorstMomentNeedsBlocks(t *testing.T) {
	var found recoveries
	err := found.atTheWorstMoment(t.Context(), nil, configuration{blockTTL()}, nil, 3)
	require.EqualError(t, err, "block_ttl: 45s, seed 3: 0 blocks of a host that is slow for 30m0s")
}

func TestOverlappingBlocksArePaired(t *testing.T) {
	block := func(from, to int) *sim.Block {
		return &sim.Block{Seen: time.Duration(from) * time.Second, Until: time.Duration(to) * time.Second}
	}
	got := apart([]*sim.Block{block(10, 50), block(100, 140)}, []*sim.Block{block(12, 53), block(99, 138), block(200, 240)})
	assert.Equal(t, []time.Duration{3 * time.Second, 2 * time.Second}, got)
}

func TestASummaryIsTheMedianAndTheWorst(t *testing.T) {
	assert.Equal(t, typical[int]{Median: 3, Worst: 9}, summary([]int{9, 1, 3}))
	assert.Equal(t, typical[wait]{Median: never, Worst: never}, summary([]wait{never, 1}), "the worse of the two in the middle")
}

func TestAWaitIsShownInSecondsOrMinutes(t *testing.T) {
	for took, shown := range map[time.Duration]string{
		0: "0 s", 75400 * time.Millisecond: "75 s", 179 * time.Second: "179 s", 3 * time.Minute: "3.0 min", 674 * time.Second: "11.2 min",
	} {
		assert.Equal(t, shown, wait(took).String())
	}
	assert.Equal(t, "not within an hour", English.wait(never))
	assert.Equal(t, "一小时内没有", Chinese.wait(never))
}
