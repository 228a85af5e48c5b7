package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"endpoint-breaker/internal/gateway"
	"endpoint-breaker/internal/wasmhost"
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
	state := State{Setting: s.setting(), At: s.now(), Counters: s.counters(), Events: b.all()}
	from := recentFrom(state.Setting.Plan, state.Events, state.At)
	blocks, finished, total := s.watcher.all(), s.finished(), 0
	recent := make([]int, len(s.servers))
	for i, server := range s.servers {
		e := EndpointState{Name: server.Name(), Address: server.Address()}
		e.Block = latestOf(e.Name, blocks)
		e.Phase = phaseOf(e.Block, server.Slow(), state.At)
		recent[i] = e.summarize(journeysOf(finished[e.Address], s.arrivals(server)), from, state.At)
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

// log keeps what the plugin itself has to say, keyword and all, without what the wrapper
// of its SDK puts before it.
func (b *Board) log(line wasmhost.LogLine) {
	if line.Level < wasmhost.LogWarn {
		return
	}
	message := line.Message
	if i := strings.Index(message, "] endpoint-breaker "); i >= 0 {
		message = message[i+len("] "):]
	}
	b.add(EventLog, fmt.Sprintf("log of worker %d: %s", line.Worker, message))
}

// explain adds what the plugin has logged to an error of the start, before which nobody
// has read it.
func (b *Board) explain(err error) error {
	for _, event := range b.all() {
		err = fmt.Errorf("%w; %s", err, event.Text)
	}
	return err
}

// finished are the requests that are over, by the address of their endpoint.
func (s *stage) finished() map[string][]Journey {
	s.mu.Lock()
	defer s.mu.Unlock()
	byHost := map[string][]Journey{}
	for _, access := range s.accesses {
		byHost[access.Host] = append(byHost[access.Host], journeyOf(access, s.base))
	}
	return byHost
}

func journeyOf(access gateway.Access, base time.Duration) Journey {
	return Journey{Began: access.Placed - base, Ended: access.Done - base}
}

// clusterMetrics is how the names of the plugin's metrics of this cluster begin.
const clusterMetrics = "endpoint_breaker.upstream." + clusterName + ".model.metric."

func (s *stage) counters() Counters {
	value := func(name string) int64 { return s.plugin.Metric(clusterMetrics + name) }
	return Counters{
		Samples: value("samples"), Deduplicated: value("samples_deduplicated"), Stale: value("samples_stale"),
		Blocks: value("blocks_enforced"), Overrides: value("overrides_enforced"), Bypasses: value("bypasses_enforced"),
	}
}
