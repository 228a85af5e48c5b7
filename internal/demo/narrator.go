package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"endpoint-breaker/internal/gateway"
)

// lockedWriter is for the narrator and the workers' logs, which come at any time.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

// narrator tells in plain lines what happens while it happens.
type narrator struct {
	stage *stage
	load  *load
	phase atomic.Int32
	last  []gateway.HostState
	at    time.Duration
}

func newNarrator(s *stage, l *load) *narrator {
	return &narrator{stage: s, load: l, last: s.gateway.Hosts()}
}

func (n *narrator) opening() {
	plan := n.stage.options.Plan
	n.printf("three model servers behind %s: %s\n", n.stage.gateway.URL(), strings.Join(n.stage.addresses(), ", "))
	n.printf("gateway workers: %d, clients: %g requests/s, timing: %s\n",
		n.stage.options.Workers, n.stage.options.Rate, pace(plan))
	n.printf("plugin: slow_threshold %s, dedup_window %s, confirm_count %d, block_ttl %s, check_interval %s; about %s in all\n\n",
		short(plan.SlowThreshold), short(plan.DedupWindow), confirmCount, short(plan.BlockTTL), short(plan.CheckInterval), seconds(plan.Duration()))
}

// run prints a line every second, or less often when the story is long.
func (n *narrator) run(ctx context.Context) error {
	every := max(time.Second, (n.stage.options.Plan.Duration() / 40).Round(time.Second))
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			n.line()
		}
	}
}

func (n *narrator) line() {
	hosts, now := n.stage.gateway.Hosts(), n.stage.now()
	var all, total uint64
	placed := make([]uint64, len(hosts))
	for i := range hosts {
		placed[i] = hosts[i].Placed() - n.last[i].Placed()
		all += placed[i]
		total += hosts[i].Placed()
	}
	var shares strings.Builder
	for i, server := range n.stage.servers {
		fmt.Fprintf(&shares, "  %s %5s", server.Name(), share(int(placed[i]), int(all)))
	}
	n.event("%-9s %5.1f req/s %s   waiting %d", Phase(n.phase.Load()),
		float64(all)/(now-n.at).Seconds(), shares.String(), max(int(total)-n.load.answered(), 0))
	n.last, n.at = hosts, now
}

func (n *narrator) fault(endpoint string, answer time.Duration) {
	n.phase.Store(int32(Slow))
	n.event("► %s turns slow: an answer now takes %s, its health checks stay green", endpoint, answer)
}

func (n *narrator) gaveUp(endpoint string, after time.Duration) {
	n.event("► %s is not blocked after %s: giving up", endpoint, seconds(after))
}

func (n *narrator) blocked(b Block) {
	n.phase.Store(int32(Blocked))
	n.event("► the plugin blocks %s until %s (reason %s, strike %d)", b.Endpoint, seconds(b.Until), b.Reason, b.Strikes)
}

func (n *narrator) healed(endpoint string) {
	n.event("► %s heals; the plugin cannot know yet", endpoint)
}

func (n *narrator) returned(endpoint string) {
	n.phase.Store(int32(Returned))
	n.event("► the block is over: %s is an endpoint like any other again", endpoint)
}

func (n *narrator) event(format string, values ...any) {
	n.printf("%7.1f s  "+format+"\n", append([]any{n.stage.now().Seconds()}, values...)...)
}

func (n *narrator) printf(format string, values ...any) {
	fmt.Fprintf(n.stage.options.Progress, format, values...)
}
