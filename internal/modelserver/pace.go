package modelserver

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// pace decides how long a healthy server takes.
type pace struct {
	options Options
	mu      sync.Mutex
	random  *rand.Rand
}

func newPace(o Options) *pace {
	return &pace{options: o, random: rand.New(rand.NewPCG(o.Seed, 0x6d6f64656c))}
}

// next is the time to the first token and from token to token of one request.
func (p *pace) next() (firstToken, perToken time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	factor := math.Exp(p.options.Jitter * p.random.NormFloat64())
	return scale(p.options.FirstToken, factor), scale(p.options.PerToken, factor)
}

func scale(d time.Duration, factor float64) time.Duration {
	return time.Duration(float64(d) * factor)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
