package demo

import (
	"slices"
	"time"
)

// Recording is what happened. All times count from the start of the load.
type Recording struct {
	Plan      Plan
	Gateway   Gateway
	Workers   int      // of the gateway
	Endpoints []string // names, in order
	Slow      string   // the one that turned slow
	Fault     time.Duration
	Heal      time.Duration // 0 = it never came to that
	End       time.Duration // of the load
	Blocks    []Block       // in the order in which they were seen
	Requests  []Request     // in the order in which they were sent
}

// Block is one entry of the plugin's blocklist.
type Block struct {
	Endpoint     string
	Since, Until time.Duration // as the plugin wrote them; Until as last extended
	Inexact      time.Duration // how much earlier Until may really be, since the gateway shows no more
	Seen         time.Duration // it stood in the shared data then at the latest, for every worker
	Strikes      int
	Reason       string
}

// Request is one request, as its client and the gateway saw it.
type Request struct {
	Endpoint string // "" = nobody answered
	Sent     time.Duration
	Latency  time.Duration // until the last byte
	// The plugin decided about the request between these two.
	DecisionBegan, DecisionEnded time.Duration
	Failure                      string // "" = the client got a whole answer
}

// Phase is a part of the story.
type Phase int

// The phases in order.
const (
	Healthy  Phase = iota
	Slow           // from the fault until the block
	Blocked        // while the block holds
	Returned       // afterwards
)

func (p Phase) String() string {
	return [...]string{"healthy", "slow", "blocked", "returned"}[p]
}

// Block returns the first block of the endpoint.
func (r *Recording) Block(endpoint string) (Block, bool) { return firstOf(endpoint, r.Blocks) }

func firstOf(endpoint string, blocks []Block) (Block, bool) {
	i := slices.IndexFunc(blocks, func(b Block) bool { return b.Endpoint == endpoint })
	if i < 0 {
		return Block{}, false
	}
	return blocks[i], true
}

// latestOf returns the last block of the endpoint, the zero Block when there is none.
func latestOf(endpoint string, blocks []Block) Block {
	for _, block := range slices.Backward(blocks) {
		if block.Endpoint == endpoint {
			return block
		}
	}
	return Block{}
}

// Phases are those that the story got to, in order.
func (r *Recording) Phases() []Phase {
	if _, blocked := r.Block(r.Slow); !blocked {
		return []Phase{Healthy, Slow}
	}
	return []Phase{Healthy, Slow, Blocked, Returned}
}

// PhaseOf says in which phase the plugin decided about the request. A decision counts
// as taken under the block when every worker could see the block before it began and
// it was certainly over before the block was.
func (r *Recording) PhaseOf(request Request) Phase {
	block, blocked := r.Block(r.Slow)
	switch {
	case request.DecisionBegan < r.Fault:
		return Healthy
	case !blocked || request.DecisionBegan < block.Seen:
		return Slow
	case request.DecisionEnded < block.Until-block.Inexact:
		return Blocked
	default:
		return Returned
	}
}

// Span is the time from the first to the last moment of one of Phases.
func (r *Recording) Span(p Phase) (from, to time.Duration) {
	block, blocked := r.Block(r.Slow)
	switch {
	case p == Healthy:
		return 0, r.Fault
	case p == Slow && !blocked:
		return r.Fault, r.End
	case p == Slow:
		return r.Fault, block.Since
	case p == Blocked:
		return block.Since, block.Until
	default:
		return block.Until, max(r.End, block.Until)
	}
}

// In gives the requests of a phase.
func (r *Recording) In(p Phase) []Request {
	var in []Request
	for _, request := range r.Requests {
		if r.PhaseOf(request) == p {
			in = append(in, request)
		}
	}
	return in
}

// to gives those of the requests that the endpoint answered.
func to(endpoint string, requests []Request) []Request {
	var answered []Request
	for _, request := range requests {
		if request.Endpoint == endpoint {
			answered = append(answered, request)
		}
	}
	return answered
}
