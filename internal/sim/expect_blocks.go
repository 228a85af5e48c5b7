package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Blocked expects that a block of the endpoint begins in [after, by].
type Blocked struct {
	Endpoint string    `json:"endpoint"`
	After    Duration  `json:"after"`
	By       *Duration `json:"by"`      // by default the end of the run
	Lasting  *Duration `json:"lasting"` // from its beginning to its end, exactly
	Reason   string    `json:"reason"`  // one of reasons
	Strikes  int       `json:"strikes"`
	Observed bool      `json:"observed"` // a block of mode observe, which steers nothing
}

// reasons are what a block can say that was measured.
func reasons() []string {
	return []string{"headers", "first_chunk", "in_flight", "timeout", "aborted", "stalled"}
}

func (b *Blocked) validate(s *Scenario) error {
	if b.After > s.Duration {
		return at("after", fmt.Errorf("given %s; the run ends at %s", b.After, s.Duration))
	}
	if b.By != nil && *b.By < b.After {
		return at("by", fmt.Errorf("given %s; should not be before after, %s", *b.By, b.After))
	}
	if b.Reason != "" {
		if err := oneOf(b.Reason, reasons()...); err != nil {
			return at("reason", err)
		}
	}
	return firstOf(at("strikes", notNegative(b.Strikes)), at("endpoint", s.knowsEndpoints(b.Endpoint)))
}

func (b *Blocked) check(r *Result) Verdict {
	blocks := r.blocksOf(b.Endpoint, Window{}, b.Observed, r.none())
	for _, block := range blocks {
		if b.missedBy(block) <= r.toleranceAt(block.Seen) && b.differences(block, r.Tolerance.Base) == 0 {
			return Verdict{OK: true, What: b.what(), Seen: oneOfBlocks(block, len(blocks))}
		}
	}
	return Verdict{What: b.what(), Seen: b.nearest(blocks, r.Tolerance.Base)}
}

// missedBy is how far from [after, by] the block begins.
func (b *Blocked) missedBy(block *Block) time.Duration {
	by := Never
	if b.By != nil {
		by = time.Duration(*b.By)
	}
	return max(time.Duration(b.After)-block.Seen, block.Seen-by, 0)
}

// differences counts what is expected of the block besides its beginning and is not so.
func (b *Blocked) differences(block *Block, tolerance time.Duration) int {
	n := 0
	for _, differs := range []bool{
		b.Lasting != nil && !block.lasts(time.Duration(*b.Lasting), tolerance),
		b.Reason != "" && block.Reason != b.Reason,
		b.Strikes != 0 && block.Strikes != b.Strikes,
	} {
		if differs {
			n++
		}
	}
	return n
}

// nearest shows the block that comes closest to what is expected: in time, then in what
// else is said of it.
func (b *Blocked) nearest(blocks []*Block, tolerance time.Duration) string {
	if len(blocks) == 0 {
		return "no block"
	}
	nearest := slices.MinFunc(blocks, func(one, other *Block) int {
		return cmp.Or(cmp.Compare(b.missedBy(one), b.missedBy(other)), cmp.Compare(b.differences(one, tolerance), b.differences(other, tolerance)))
	})
	if len(blocks) == 1 {
		return nearest.name()
	}
	return fmt.Sprintf("%s, the nearest of %d", nearest.name(), len(blocks))
}

func (b *Blocked) what() string {
	text := b.Endpoint + " is blocked"
	if b.Observed {
		text = b.Endpoint + " is found slow (observed only)"
	}
	switch {
	case b.After > 0 && b.By != nil:
		text += fmt.Sprintf(" between %s and %s", b.After, b.By)
	case b.After > 0:
		text += " after " + b.After.String()
	case b.By != nil:
		text += " by " + b.By.String()
	}
	if b.Lasting != nil {
		text += " for " + b.Lasting.String()
	}
	if b.Reason != "" {
		text += ", reason " + b.Reason
	}
	if b.Strikes > 0 {
		text += fmt.Sprintf(", strikes %d", b.Strikes)
	}
	return text
}

// NeverBlocked expects that none of the endpoints is blocked in the window.
type NeverBlocked struct {
	Endpoints []string `json:"endpoints"` // by default all
	Window
}

func (n *NeverBlocked) validate(s *Scenario) error {
	return firstOf(at("endpoints", s.knowsEndpoints(n.Endpoints...)), n.Window.validate(s.Duration))
}

func (n *NeverBlocked) check(r *Result) Verdict {
	names, who := n.Endpoints, strings.Join(n.Endpoints, ", ")
	if len(names) == 0 {
		names, who = r.Scenario.endpointNames(), "no endpoint"
	}
	var found []*Block
	for _, name := range names {
		found = append(found, r.blocksOf(name, n.Window, false, r.surely())...)
	}
	what := who + " is ever blocked" + n.Window.String()
	if len(n.Endpoints) > 0 {
		what = who + " never blocked" + n.Window.String()
	}
	return Verdict{OK: len(found) == 0, What: what, Seen: firstOfBlocks(found)}
}

// Blocks expects a number of blocks that are active in the window.
type Blocks struct {
	Endpoint string `json:"endpoint"` // by default all together
	Window
	Bounds
}

func (b *Blocks) validate(s *Scenario) error {
	var name error
	if b.Endpoint != "" {
		name = at("endpoint", s.knowsEndpoints(b.Endpoint))
	}
	return firstOf(name, b.Window.validate(s.Duration), b.Bounds.validate())
}

func (b *Blocks) check(r *Result) Verdict {
	number := r.tally(func(m margin) int64 { return int64(len(r.blocksOf(b.Endpoint, b.Window, false, m))) })
	found := r.blocksOf(b.Endpoint, b.Window, false, r.none())
	verdict := b.verdict(number, strings.TrimSpace("blocks of "+orElse(b.Endpoint, "all endpoints")+b.Window.String()))
	if len(found) > 0 {
		verdict.Seen += ": " + firstOfBlocks(found)
	}
	return verdict
}

// Returned expects that a request reaches the endpoint in [after, by], after a
// block of it and outside of any.
type Returned struct {
	Endpoint string    `json:"endpoint"`
	After    Duration  `json:"after"`
	By       *Duration `json:"by"`
}

func (e *Returned) validate(s *Scenario) error {
	if e.After > s.Duration {
		return at("after", fmt.Errorf("given %s; the run ends at %s", e.After, s.Duration))
	}
	if e.By == nil {
		return at("by", momentMissing())
	}
	if *e.By <= e.After {
		return at("by", fmt.Errorf("given %s; should be after %s", *e.By, e.After))
	}
	return at("endpoint", s.knowsEndpoints(e.Endpoint))
}

func (e *Returned) check(r *Result) Verdict {
	verdict := Verdict{What: fmt.Sprintf("%s is back by %s", e.Endpoint, e.By), Seen: "no request reached it after a block"}
	if e.After > 0 {
		verdict.What = fmt.Sprintf("%s is back between %s and %s", e.Endpoint, e.After, e.By)
	}
	blocks := r.blocksOf(e.Endpoint, Window{}, false, r.none())
	for _, request := range r.Requests {
		if request.Endpoint != e.Endpoint || request.Chosen < time.Duration(e.After) || !freeAgain(blocks, request.Chosen) {
			continue
		}
		verdict.OK = request.Chosen <= time.Duration(*e.By)+r.toleranceAt(time.Duration(*e.By))
		verdict.Seen = "first request at " + shown(request.Chosen)
		return verdict
	}
	return verdict
}

// freeAgain reports whether at the moment at least one block is over and none is
// active.
func freeAgain(blocks []*Block, moment time.Duration) bool {
	over := false
	for _, block := range blocks {
		end, _ := block.ends()
		if block.Seen <= moment && moment < end {
			return false
		}
		over = over || end <= moment
	}
	return over
}

// BlocksLost expects a number of blocks that disappear before their time. None
// may, unless the scenario damages the blocklist on purpose.
type BlocksLost struct{ Bounds }

func (b *BlocksLost) validate(*Scenario) error { return b.Bounds.validate() }

func (b *BlocksLost) check(r *Result) Verdict {
	lost := int64(0)
	for _, block := range r.Blocks {
		if block.Lost {
			lost++
		}
	}
	return b.verdict(exactly(lost), "blocks lost before their time")
}

// BlocksShortened expects how often the end of a block moves nearer. It may not,
// unless a new configuration has a shorter TTL.
type BlocksShortened struct{ Bounds }

func (b *BlocksShortened) validate(*Scenario) error { return b.Bounds.validate() }

func (b *BlocksShortened) check(r *Result) Verdict {
	shortened := int64(0)
	for _, block := range r.Blocks {
		shortened += int64(block.Shortened)
	}
	return b.verdict(exactly(shortened), "blocks shortened")
}

// blocksOf finds the blocks of an endpoint, or of all for "", that are active in
// the window and not only within the margin of its edges.
func (r *Result) blocksOf(endpoint string, w Window, observed bool, m margin) []*Block {
	var found []*Block
	for _, block := range r.Blocks {
		if (endpoint == "" || block.Endpoint == endpoint) && block.Observed == observed && block.activeIn(w, m) {
			found = append(found, block)
		}
	}
	return found
}

// firstOfBlocks shows the block that began first, and how many there are besides.
func firstOfBlocks(blocks []*Block) string {
	if len(blocks) == 0 {
		return "no block"
	}
	first := slices.MinFunc(blocks, func(one, other *Block) int { return cmp.Compare(one.Seen, other.Seen) })
	return oneOfBlocks(first, len(blocks))
}

// oneOfBlocks shows one block of so many.
func oneOfBlocks(block *Block, of int) string {
	switch of {
	case 1:
		return block.name()
	case 2:
		return block.name() + ", and 1 other"
	default:
		return fmt.Sprintf("%s, and %d others", block.name(), of-1)
	}
}
