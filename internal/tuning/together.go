package tuning

import (
	"context"
	"fmt"
	"slices"
	"time"

	"endpoint-breaker/internal/sim"
)

// Together is a row of the table about hosts that are blocked together.
type Together struct {
	Configuration string
	Apart         []time.Duration // between the ends of their blocks, in order
}

const togetherFor = 8 * time.Minute // the two hosts are slow

// together are the rows.
func together() []configuration {
	return []configuration{{blockTTL()}, {key{jitter().name, 10}}, {jitter()}}
}

// measureTogether plays two of the four hosts becoming slow at once, in so many clusters.
func measureTogether(ctx context.Context, wasm []byte, c configuration, clusters int) (Together, error) {
	s := stage{name: c.String(), workers: returnWorkers, duration: warmUp + togetherFor}
	for i := range clusters {
		one := slowHost(fmt.Sprintf("two-%d", i+1), c, step{warmUp, slowAnswer})
		one.ill = 2
		s.clusters = append(s.clusters, one)
	}
	row := Together{Configuration: c.String()}
	result, err := s.play(ctx, wasm, 1)
	if err != nil {
		return row, err
	}
	for _, one := range s.clusters {
		row.Apart = append(row.Apart, apart(blocksOf(result, one.host(0)), blocksOf(result, one.host(1)))...)
	}
	slices.Sort(row.Apart)
	return row, nil
}

// apart pairs the blocks of two hosts that overlap.
func apart(first, second []*sim.Block) []time.Duration {
	var all []time.Duration
	for _, a := range first {
		for _, b := range second {
			if a.Seen < b.Until && b.Seen < a.Until {
				all = append(all, (a.Until - b.Until).Abs())
			}
		}
	}
	return all
}
