package demo

import (
	"errors"
	"fmt"
	"math"
)

// The most that one machine plays as meant: gateway, clients and servers share it.
const (
	MaxWorkers = 64
	MaxRate    = 500 // requests per second
)

// Options say how to play.
type Options struct {
	Gateway  Gateway
	Wasm     string // the file of the plugin: the build for this gateway
	Plan     Plan
	Workers  int      // of the gateway, 1 to MaxWorkers
	Rate     float64  // requests per second, from Plan.LeastRate to MaxRate
	Seed     uint64   // decides the arrivals, the requests and the servers' jitter
	Audience Audience // follows while it is played
}

// Check tells what of the options cannot be played. It does not look at Wasm.
func (o Options) Check() error {
	if o.Workers < 1 || o.Workers > MaxWorkers {
		return fmt.Errorf("workers: %d given, it goes from 1 to %d", o.Workers, MaxWorkers)
	}
	least := o.Plan.LeastRate(o.Workers)
	if least > MaxRate {
		return fmt.Errorf("workers: %d given, at scale %g they need %g requests per second, and %d are the most: %s; take fewer workers or a smaller scale",
			o.Workers, o.Plan.Scale, least, MaxRate, o.whyLeast())
	}
	if !(o.Rate >= least && o.Rate <= MaxRate) {
		return fmt.Errorf("rate: %g requests per second given, with %d workers at scale %g it goes from %g to %d: %s",
			o.Rate, o.Workers, o.Plan.Scale, least, MaxRate, o.whyLeast())
	}
	if o.Audience == nil {
		return errors.New("audience: none given")
	}
	return nil
}

// whyLeast is the rule behind Plan.LeastRate.
func (o Options) whyLeast() string {
	return fmt.Sprintf("each worker counts for itself, and needs %d slow requests %s apart in time", confirmCount, short(o.Plan.DedupWindow))
}

// enough is how many requests a worker has to expect at the slow endpoint while a second
// sample is still in time: with five, chance leaves it without one in less than 1 of 100
// stories.
const enough = 5

// LeastRate is the rate, in requests per second, below which chance may decide whether the
// block comes in time, rounded up to a tenth. The requests spread over the endpoints and
// the workers.
func (p Plan) LeastRate(workers int) float64 {
	inTime := p.BlockWithin - p.blockExpected()
	rate := enough * float64(endpointCount) * float64(workers) / inTime.Seconds()
	return math.Ceil(rate*10) / 10
}
