package chaos

import (
	"fmt"
	"time"
)

// host is one endpoint of the cluster.
type host struct {
	address string
	slow    bool // truly
	away    bool // not in the cluster just now
	sick    bool // Envoy's health checks fail
}

func newHosts(n int) []*host {
	hosts := make([]*host, n)
	for i := range hosts {
		hosts[i] = &host{address: fmt.Sprintf("10.0.0.%d:8000", i+1)}
	}
	return hosts
}

// failure is how an attempt ends without an answer.
type failure string

const (
	noFailure         failure = ""
	connectionFailure failure = "upstream_reset_before_response_started{remote_connection_failure}"
	resetFailure      failure = "upstream_reset_before_response_started{connection_termination}"
)

// never is the moment of what does not happen.
const never = time.Duration(-1)

// behaviour is what a host does with one attempt. Times run from when it has the whole request,
// those of a connection failure and of an early answer from the attempt's beginning.
type behaviour struct {
	fails     failure
	early     bool
	status    string
	after     time.Duration // the failure, or the response headers
	first     time.Duration // the first chunk, for streams
	chunks    int           // after the first
	gap       time.Duration // between two of them
	stalls    bool          // the last chunk never comes
	redirects bool          // the answer is one that Envoy follows itself
}

// behave draws what the host does with a request of a route that a healthy host answers within
// that time.
func (h *host) behave(r random, s setup, within time.Duration) behaviour {
	b := healthyBehaviour(r, s, within)
	if !h.slow || r.chance(0.2) {
		return b
	}
	b.fails, b.early, b.redirects, b.status = noFailure, false, false, "200"
	late := r.between(1.02, 3, s.longest())
	switch p := r.Float64(); {
	case p < 0.35:
		b.after = never
	case p < 0.7:
		b.after, b.first = late, late+r.between(0, 1, s.longest())
	case p < 0.8:
		b.status, b.after, b.first = "503", late, late
	case p < 0.9:
		b.after, b.first = r.between(0, 0.05, s.shortest()), never
	default:
		b.after, b.first = r.between(0, 0.05, s.shortest()), late
	}
	b.stalls = r.chance(0.3)
	return b
}

func healthyBehaviour(r random, s setup, within time.Duration) behaviour {
	b := behaviour{status: "200"}
	b.first = r.between(0.01, 0.1, within)
	if r.chance(0.2) {
		b.first = r.between(0.1, 1, within)
	}
	b.after = r.between(0, 1, b.first)
	b.chunks, b.gap = r.IntN(6), r.between(0, 1, 2*s.longest())
	if s.stall > 0 {
		b.gap = r.between(0, 0.9, s.stall)
	}
	switch p := r.Float64(); {
	case p < 0.02:
		b.fails, b.after = connectionFailure, r.between(0, 0.02, within)
	case p < 0.04:
		b.fails, b.after = resetFailure, r.between(0, 0.9, within)
	case p < 0.09:
		b.status, b.after = "503", r.between(0, 0.9, within)
	case p < 0.11:
		b.early, b.status, b.after = true, "413", r.between(0, 1, within)
	case p < 0.12:
		b.redirects = true
	}
	return b
}
