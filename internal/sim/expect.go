package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Expectation is something that must hold of a run. It is of exactly one kind.
type Expectation struct {
	Blocked        *Blocked               `json:"blocked"`
	NeverBlocked   *NeverBlocked          `json:"never_blocked"`
	Blocks         *Blocks                `json:"blocks"`
	Returned       *Returned              `json:"returned"`
	Requests       *Requests              `json:"requests"`
	RequestsTo     *RequestsTo            `json:"requests_to"`
	Refused        *Refusals              `json:"refused"`
	ClientErrors   *ClientErrors          `json:"client_errors"`
	SlowRequests   *SlowRequests          `json:"slow_requests"`
	SamplesCounted *SamplesCounted        `json:"samples_counted"`
	Metric         *MetricValue           `json:"metric"`
	LogLines       *LogLines              `json:"log_lines"`
	Trapped        *Trapped               `json:"trapped"`
	ConfigRefused  *ConfigurationsRefused `json:"configurations_refused"`
	BlocksLost     *BlocksLost            `json:"blocks_lost"`
	Shortened      *BlocksShortened       `json:"blocks_shortened"`
	MemoryGrowth   *MemoryGrowth          `json:"memory_growth"`
}

// condition is one kind of expectation.
type condition interface {
	validate(s *Scenario) error
	check(r *Result) Verdict
}

// condition returns what is expected, and what the file calls that.
func (e Expectation) condition() (kind string, what condition, err error) {
	return chosen[condition](e)
}

// Verdict says whether an expectation held.
type Verdict struct {
	OK   bool
	What string // what was expected
	Seen string // what there was
	// Unseen: the gateway does not show it, and Seen says why. Nothing is held against it.
	Unseen bool
}

// Verdicts judges every expectation of the scenario. Behind them come those
// that hold for every run unless the scenario says otherwise: no VM traps, no
// configuration is refused, no block is lost or gets shorter.
func (r *Result) Verdicts() []Verdict {
	var verdicts []Verdict
	for _, expectation := range append(r.Scenario.Expect, r.Scenario.unstated()...) {
		kind, what, err := expectation.condition()
		if err != nil {
			continue // no scenario with it is ever read
		}
		verdict := what.check(r)
		if why, unseen := r.Unseen[kind]; unseen {
			verdict.OK, verdict.Unseen, verdict.Seen = true, true, "nothing: "+why
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts
}

// unstated are the expectations that a scenario need not write down.
func (s *Scenario) unstated() []Expectation {
	none := Bounds{Exactly: new(int64)}
	var stated Expectation
	for _, e := range s.Expect {
		stated.Trapped = orElse(stated.Trapped, e.Trapped)
		stated.ConfigRefused = orElse(stated.ConfigRefused, e.ConfigRefused)
		stated.BlocksLost = orElse(stated.BlocksLost, e.BlocksLost)
		stated.Shortened = orElse(stated.Shortened, e.Shortened)
	}
	var missing []Expectation
	if stated.Trapped == nil {
		missing = append(missing, Expectation{Trapped: &Trapped{none}})
	}
	if stated.ConfigRefused == nil {
		missing = append(missing, Expectation{ConfigRefused: &ConfigurationsRefused{none}})
	}
	if stated.BlocksLost == nil {
		missing = append(missing, Expectation{BlocksLost: &BlocksLost{none}})
	}
	if stated.Shortened == nil {
		missing = append(missing, Expectation{Shortened: &BlocksShortened{none}})
	}
	return missing
}

// Bounds limit a number.
type Bounds struct {
	Exactly *int64 `json:"exactly"`
	AtLeast *int64 `json:"at_least"`
	AtMost  *int64 `json:"at_most"`
}

func (b Bounds) given() bool { return b.Exactly != nil || b.AtLeast != nil || b.AtMost != nil }

func (b Bounds) validate() error {
	switch {
	case !b.given():
		return errors.New("there should be exactly, at_least or at_most")
	case b.Exactly != nil && (b.AtLeast != nil || b.AtMost != nil):
		return errors.New("exactly goes with neither at_least nor at_most")
	case b.AtLeast != nil && b.AtMost != nil && *b.AtLeast > *b.AtMost:
		return fmt.Errorf("at_least %d is more than at_most %d", *b.AtLeast, *b.AtMost)
	}
	return firstOf(
		at("exactly", notNegative(valueOf(b.Exactly))),
		at("at_least", notNegative(valueOf(b.AtLeast))),
		at("at_most", notNegative(valueOf(b.AtMost))),
	)
}

// valueOf is 0 for what is not given.
func valueOf[T any](given *T) T {
	var zero T
	if given == nil {
		return zero
	}
	return *given
}

// String prints the bounds as "exactly 3" or "at least 3 and at most 5".
func (b Bounds) String() string {
	var parts []string
	for _, part := range []struct {
		name  string
		value *int64
	}{{"exactly", b.Exactly}, {"at least", b.AtLeast}, {"at most", b.AtMost}} {
		if part.value != nil {
			parts = append(parts, fmt.Sprintf("%s %d", part.name, *part.value))
		}
	}
	return strings.Join(parts, " and ")
}

// verdict judges a number of things by the bounds.
func (b Bounds) verdict(t tally, things string) Verdict {
	seen := fmt.Sprint(t.seen)
	if !b.hold(exactly(t.seen)) {
		seen = t.String() // the range decides
	}
	return Verdict{OK: b.hold(t), What: fmt.Sprintf("%s: %s", things, b), Seen: seen}
}

// Window is a part of the run, from From up to but not including To; by default
// all of it.
type Window struct {
	From Duration  `json:"from"`
	To   *Duration `json:"to"`
}

// validate checks the window for a run of that length.
func (w Window) validate(end Duration) error {
	if w.From >= end {
		return at("from", fmt.Errorf("given %s; the run ends at %s", w.From, end))
	}
	if w.To != nil && *w.To <= w.From {
		return at("to", fmt.Errorf("given %s; should be after from, %s", *w.To, w.From))
	}
	return nil
}

func (w Window) from() time.Duration { return time.Duration(w.From) }

func (w Window) to() time.Duration {
	if w.To == nil {
		return Never
	}
	return time.Duration(*w.To)
}

// String prints the window behind what it limits: " from 1m0s to 2m0s".
func (w Window) String() string {
	text := ""
	if w.From > 0 {
		text = " from " + w.From.String()
	}
	if w.To != nil {
		text += " to " + w.To.String()
	}
	return text
}
