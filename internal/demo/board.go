package demo

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"endpoint-breaker/internal/modelserver"
)

// Audience follows a story while it is played. It reads the board at its own pace until
// ctx ends, then tells what is left to tell and returns. The story does not wait for it;
// an error of the audience ends the story.
type Audience func(ctx context.Context, board *Board) error

// Board is where an audience reads how the story stands. Its methods may be called from
// any goroutine.
type Board struct {
	stage *stage

	mu     sync.Mutex
	now    func() time.Duration // nil = the load has not started
	events []Event
}

// State is the story as it stands now. Call it from an Audience only, where the load has
// started.
func (b *Board) State() State {
	s := b.stage
	state := State{Setting: s.setting(), At: s.now(), Counters: s.gateway.counters(), Events: b.all()}
	from := recentFrom(state.Setting.Plan, state.Events, state.At)
	blocks, finished, total := s.blocks(), s.finished(), 0
	recent := make([]int, len(s.servers))
	for i, server := range s.servers {
		e := EndpointState{Name: server.Name(), Address: server.Address()}
		e.Block = latestOf(e.Name, blocks)
		e.Phase = phaseOf(e.Block, server.Slow(), state.At)
		recent[i] = e.summarize(journeysOf(finished[e.Name], s.arrivals(server)), from, state.At)
		total += recent[i]
		state.Endpoints = append(state.Endpoints, e)
	}
	for i := range recent {
		state.Endpoints[i].Share = float64(recent[i]) / float64(max(total, 1))
	}
	return state
}

func (b *Board) begin(now func() time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = now
}

func (b *Board) add(kind EventKind, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	event := Event{Kind: kind, Text: text}
	if b.now != nil {
		event.At = b.now()
	}
	b.events = append(b.events, event)
}

func (b *Board) all() []Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.events)
}

// explain adds what the plugin has logged to an error of the start, before which nobody
// has read it.
func (b *Board) explain(err error) error {
	for _, event := range b.all() {
		err = fmt.Errorf("%w; %s", err, event.Text)
	}
	return err
}

// finished are the requests that are over, as their clients saw them, by the name of their
// endpoint.
func (s *stage) finished() map[string][]Journey {
	byName := map[string][]Journey{}
	for _, result := range s.load.soFar() {
		name, sent := result.Headers.Get(modelserver.ServedByHeader), result.Timestamp.Sub(s.started)
		byName[name] = append(byName[name], Journey{Began: sent, Ended: sent + result.Latency})
	}
	return byName
}

// clusterMetrics is how the names of the plugin's metrics of this cluster begin.
const clusterMetrics = "endpoint_breaker.upstream." + clusterName + ".model.metric."

// countersOf asks for each of the plugin's metrics by its name.
func countersOf(metric func(name string) int64) Counters {
	value := func(name string) int64 { return metric(clusterMetrics + name) }
	return Counters{
		Samples: value("samples"), Deduplicated: value("samples_deduplicated"), Stale: value("samples_stale"),
		Blocks: value("blocks_enforced"), Overrides: value("overrides_enforced"), Bypasses: value("bypasses_enforced"),
	}
}
