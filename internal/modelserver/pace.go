package modelserver

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// pace is how long a healthy server takes for one request: to the first token, and
// from token to token.
type pace struct {
	firstToken, perToken time.Duration
}

// paces decides the pace of each request.
type paces struct {
	options Options
	mu      sync.Mutex
	random  *rand.Rand
}

func newPaces(o Options) *paces {
	return &paces{options: o, random: rand.New(rand.NewPCG(o.Seed, 0x6d6f64656c))}
}

func (p *paces) next(promptTokens int) pace {
	p.mu.Lock()
	defer p.mu.Unlock()
	factor := math.Exp(p.options.Jitter * p.random.NormFloat64())
	firstToken := p.options.FirstToken + time.Duration(promptTokens)*p.options.PerPromptToken
	return pace{firstToken: scale(firstToken, factor), perToken: scale(p.options.PerToken, factor)}
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
