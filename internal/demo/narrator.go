package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// listenEvery is how often the narrator looks whether there is something to tell.
const listenEvery = 50 * time.Millisecond

// Narrate tells in plain lines what happens while it happens: the events, and in
// between how the traffic is spread.
func Narrate(w io.Writer) Audience {
	return func(ctx context.Context, board *Board) error {
		ticker := time.NewTicker(listenEvery)
		defer ticker.Stop()
		n := &narrator{to: w, last: board.State()}
		n.opening()
		for {
			select {
			case <-ctx.Done():
				n.events(board.State())
				return nil
			case <-ticker.C:
				n.hear(board.State())
			}
		}
	}
}

// WriteLog prints how the story was set up and every event so far, as Narrate does.
func WriteLog(w io.Writer, s State) {
	n := &narrator{to: w, last: s}
	n.opening()
	n.events(s)
}

// narrator turns states into lines. It knows what it has told already.
type narrator struct {
	to   io.Writer
	told int   // events
	last State // of the line about the traffic
}

func (n *narrator) opening() {
	setting := n.last.Setting
	plan := setting.Plan
	addresses := make([]string, len(n.last.Endpoints))
	for i, endpoint := range n.last.Endpoints {
		addresses[i] = endpoint.Address
	}
	fmt.Fprintf(n.to, "three model servers behind %s: %s\n", setting.URL, strings.Join(addresses, ", "))
	fmt.Fprintf(n.to, "clients: %g requests/s, timing: %s\n", setting.Rate, pace(plan))
	fmt.Fprintf(n.to, "plugin: slow_threshold %s, dedup_window %s, confirm_count %d, block_ttl %s, check_interval %s; %s in all\n\n",
		short(plan.SlowThreshold), short(plan.DedupWindow), confirmCount, short(plan.BlockTTL), short(plan.CheckInterval), plan.About())
}

// hear tells what is new: a line about the traffic every second, or less often when the
// story is long.
func (n *narrator) hear(s State) {
	every := max(time.Second, (s.Setting.Plan.Duration() / 40).Round(time.Second))
	if s.At/every > n.last.At/every {
		n.traffic(s)
		n.last = s
	}
	n.events(s)
}

func (n *narrator) events(s State) {
	for ; n.told < len(s.Events); n.told++ {
		fmt.Fprintln(n.to, s.Events[n.told])
	}
}

func (n *narrator) traffic(s State) {
	all, waiting := 0, 0
	placed := make([]int, len(s.Endpoints))
	for i, endpoint := range s.Endpoints {
		placed[i] = endpoint.Placed - n.last.Endpoints[i].Placed
		all += placed[i]
		waiting += endpoint.Waiting
	}
	var shares strings.Builder
	for i, endpoint := range s.Endpoints {
		fmt.Fprintf(&shares, "  %s %5s", endpoint.Name, share(placed[i], all))
	}
	fmt.Fprintf(n.to, "%7.1f s  %-9s %5.1f req/s %s   waiting %d\n",
		s.At.Seconds(), s.Phase(), float64(all)/(s.At-n.last.At).Seconds(), shares.String(), waiting)
}
