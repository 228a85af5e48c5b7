package sim

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"time"
)

// Latency is how an endpoint answers as a function of time: steps, each valid
// until the next begins. In a file it may also be one duration, for an endpoint
// that always takes that long.
type Latency []Step

// Step is how an endpoint answers the requests that are complete from a moment
// on. Its times run from the moment when the request is complete.
type Step struct {
	From       Duration  `json:"from"`
	Headers    *Duration `json:"headers"`
	FirstChunk *Duration `json:"first_chunk"` // by default with the headers
	Total      *Duration `json:"total"`       // the last byte; by default with the first chunk
	Jitter     Percent   `json:"jitter"`      // each answer's times are scaled by a random factor in 1 ± jitter
	Ramp       bool      `json:"ramp"`        // the times change evenly towards the next step's
	Hang       bool      `json:"hang"`        // requests of this step are never answered
	// Stall: the endpoint stands still until the next step; what is in flight
	// waits and goes on then. As a last step: it stops answering for good.
	Stall  bool `json:"stall"`
	Status int  `json:"status"` // of the answers; by default 200
}

// Never is the moment of what does not happen.
const Never = time.Duration(math.MaxInt64)

// Answer is when one request's response arrives, as moments of the run. What is Never does not
// arrive: without headers, nothing does.
type Answer struct {
	Headers, FirstChunk, Total time.Duration
	Status                     int
}

func noAnswer() Answer { return Answer{Headers: Never, FirstChunk: Never, Total: Never} }

// after moves an answer by that much.
func (a Answer) after(begun time.Duration) Answer {
	for _, moment := range [...]*time.Duration{&a.Headers, &a.FirstChunk, &a.Total} {
		if *moment != Never {
			*moment += begun
		}
	}
	return a
}

// Responder is an endpoint at work, which answers as its latency says.
type Responder struct {
	Endpoint
	jitter *rand.Rand
}

// NewResponder returns the endpoint with its own random numbers of the seed.
func NewResponder(e Endpoint, seed uint64) *Responder {
	return &Responder{Endpoint: e, jitter: newRandom(seed, "endpoint "+e.Name)}
}

// Answer says when the response to a request that is complete at the moment of the run
// arrives. Not for several goroutines at once.
func (r *Responder) Answer(complete time.Duration) Answer {
	begun := time.Duration(0) // when the steps began for the last time
	if repeat := time.Duration(r.Repeat); repeat > 0 {
		begun = complete - complete%repeat
	}
	return r.Latency.answer(complete-begun, r.jitter).after(begun)
}

// times are the three times of a step, in the order in which they pass.
type times [3]time.Duration

// UnmarshalJSON takes a duration or a list of steps.
func (l *Latency) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(raw, []byte("[")) {
		return decode(raw, reflect.ValueOf((*[]Step)(l)).Elem())
	}
	text, _ := jsonText(raw)
	if _, err := time.ParseDuration(text); err != nil {
		return fmt.Errorf(`given %s; should be a duration such as "2s", or a list of steps`, excerpt(raw))
	}
	var constant Duration
	if err := constant.UnmarshalJSON(raw); err != nil {
		return err
	}
	*l = Latency{{Headers: &constant}}
	return nil
}

// answer says when the response to a request that is complete at the given
// moment arrives.
func (l Latency) answer(complete time.Duration, rng *rand.Rand) Answer {
	i, stalled := l.serving(complete)
	if stalled || l[i].Hang {
		return noAnswer()
	}
	took := l.timesAt(i, complete).scaled(l[i].Jitter, rng)
	got := Answer{Status: l[i].Status}
	for j, moment := range [...]*time.Duration{&got.Headers, &got.FirstChunk, &got.Total} {
		at, reached := l.afterStalls(complete, complete+took[j])
		if !reached && j == 0 {
			return noAnswer()
		}
		*moment = at
	}
	return got
}

// serving finds the step that a request belongs to: a request that arrives in a
// stall is served as the step after it says.
func (l Latency) serving(complete time.Duration) (step int, stalledForGood bool) {
	i := 0
	for i+1 < len(l) && time.Duration(l[i+1].From) <= complete {
		i++
	}
	for i < len(l) && l[i].Stall {
		i++
	}
	return i, i == len(l)
}

// timesAt gives the times of step i, between its own and the next one's on a
// ramp.
func (l Latency) timesAt(i int, moment time.Duration) times {
	took := l[i].times()
	if !l[i].Ramp {
		return took
	}
	from, to := time.Duration(l[i].From), time.Duration(l[i+1].From)
	part := float64(max(moment, from)-from) / float64(to-from)
	for j, target := range l[i+1].times() {
		took[j] += time.Duration(part * float64(target-took[j]))
	}
	return took
}

// afterStalls moves the moment at which something is due behind the stalls that
// fall into the wait for it. It is not reached when one of them never ends.
func (l Latency) afterStalls(start, due time.Duration) (moment time.Duration, reached bool) {
	for i, step := range l {
		from := time.Duration(step.From)
		if !step.Stall || due < from {
			continue
		}
		if i+1 == len(l) {
			return Never, false
		}
		if end := time.Duration(l[i+1].From); start < end {
			due += end - max(start, from)
		}
	}
	return due, true
}

func (s Step) times() times {
	took := times{time.Duration(*s.Headers)}
	took[1] = took[0]
	if s.FirstChunk != nil {
		took[1] = time.Duration(*s.FirstChunk)
	}
	took[2] = took[1]
	if s.Total != nil {
		took[2] = time.Duration(*s.Total)
	}
	return took
}

func (t times) scaled(jitter Percent, rng *rand.Rand) times {
	if jitter == 0 {
		return t
	}
	factor := 1 + float64(jitter)/100*(2*rng.Float64()-1)
	for i := range t {
		t[i] = time.Duration(factor * float64(t[i])).Truncate(time.Microsecond)
	}
	return t
}

func (l Latency) validate() error {
	if len(l) == 0 {
		return errors.New("is missing, here and in the cluster")
	}
	for i := range l {
		if err := l.validateStep(i); err != nil {
			return atIndex(i, err)
		}
	}
	return nil
}

func (l Latency) validateStep(i int) error {
	step := l[i]
	switch {
	case i == 0 && step.From != 0:
		return at("from", fmt.Errorf("given %s; the first step should begin at 0s", step.From))
	case i > 0 && step.From <= l[i-1].From:
		return at("from", fmt.Errorf("given %s; should be later than the step before, %s", step.From, l[i-1].From))
	case step.Ramp && (i+1 == len(l) || l[i+1].Headers == nil):
		return at("ramp", errors.New("there should be a step with headers behind it to lead to"))
	default:
		return step.validate()
	}
}

// validateRepeat checks that the steps fit into the time after which they start over.
func (l Latency) validateRepeat(repeat Duration) error {
	if repeat == 0 {
		return nil
	}
	for i, step := range l {
		switch {
		case step.Stall:
			return atIndex(i, errors.New("stall does not go with repeat: nobody could say when it ends"))
		case step.From >= repeat:
			return atIndex(i, at("from", fmt.Errorf("given %s; should be before repeat, %s", step.From, repeat)))
		}
	}
	return nil
}

func (s Step) validate() error {
	if s.Status != 0 && (s.Status < 200 || s.Status > 599) {
		return at("status", fmt.Errorf("given %d; should be 200 to 599, as an answer has", s.Status))
	}
	if s.Hang || s.Stall {
		if s.Headers != nil || s.FirstChunk != nil || s.Total != nil || s.Ramp || (s.Hang && s.Stall) {
			return errors.New("hang and stall should stand alone, without times or ramp")
		}
		return nil
	}
	if s.Headers == nil {
		return errors.New("should have headers (the time to them), hang or stall")
	}
	took := s.times()
	if took[0] > took[1] || took[1] > took[2] {
		return errors.New("headers, first_chunk and total should not go back in time")
	}
	return nil
}
