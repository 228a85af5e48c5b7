// Package demo plays a story in real time and judges it: one of three model servers
// behind the gateway turns slow, the plugin keeps traffic away from it, the server
// heals, and the plugin lets it come back.
package demo

import (
	"context"
	"errors"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
	"golang.org/x/sync/errgroup"

	"endpoint-breaker/internal/gateway"
	"endpoint-breaker/internal/modelserver"
)

// Run plays the story once; it takes a little longer than Plan.Duration. When ctx ends
// before, everything is stopped and the error is ctx's.
func Run(ctx context.Context, o Options) (*Recording, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	s, err := setUp(ctx, o)
	if err != nil {
		return nil, s.board.explain(err)
	}
	r, results, err := s.play(ctx)
	// The last requests reach the access log when the gateway is closed.
	if err := errors.Join(err, s.close()); err != nil {
		return nil, err
	}
	r.Requests = s.join(results)
	return r, nil
}

// play has the clients call and the fault come and go. The recording lacks the
// requests yet.
func (s *stage) play(ctx context.Context) (*Recording, []*vegeta.Result, error) {
	s.begin()
	load := startLoad(s.gateway.URL(), s.options.Plan, s.options.Rate, s.options.Seed)

	group, groupCtx := errgroup.WithContext(ctx)
	storyCtx, over := context.WithCancel(groupCtx)
	defer over()
	group.Go(func() error { return s.watcher.run(storyCtx) })
	group.Go(func() error { return s.options.Audience(storyCtx, s.board) })
	r := &Recording{Plan: s.options.Plan, Slow: s.slow().Name()}
	var results []*vegeta.Result
	group.Go(func() error {
		defer over()
		err := s.tell(storyCtx, r)
		s.slow().Heal() // whatever happened, nobody need wait any longer
		r.End = s.now()
		results = load.stop()
		return err
	})
	err := group.Wait()
	for _, server := range s.servers {
		r.Endpoints = append(r.Endpoints, server.Name())
	}
	r.Blocks = s.watcher.all()
	return r, results, err
}

// tell is the story itself.
func (s *stage) tell(ctx context.Context, r *Recording) error {
	plan, slow := s.options.Plan, s.slow()
	if err := s.until(ctx, plan.Healthy); err != nil {
		return err
	}
	slow.SlowDown(plan.SlowAnswer)
	r.Fault = s.now()
	s.board.add(faultEvent(slow.Name(), plan.SlowAnswer))

	patience, cancel := context.WithTimeout(ctx, plan.GiveUpAfter)
	block, blocked := s.watcher.waitFor(patience, slow.Name())
	cancel()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !blocked {
		s.board.add(gaveUpEvent(slow.Name(), plan.GiveUpAfter))
		return nil
	}
	s.board.add(blockEvent(block))

	if err := s.until(ctx, block.Since+plan.HealAfter); err != nil {
		return err
	}
	slow.Heal()
	r.Heal = s.now()
	s.board.add(healEvent(slow.Name()))

	if err := s.until(ctx, s.endOfBlock(slow)); err != nil {
		return err
	}
	s.board.add(returnEvent(slow.Name()))
	return s.until(ctx, s.endOfBlock(slow)+plan.Afterwards)
}

// endOfBlock is asked again and again: the plugin may extend a block.
func (s *stage) endOfBlock(server *modelserver.Server) time.Duration {
	block, _ := firstOf(server.Name(), s.watcher.all())
	return block.Until
}

// join makes one record of what the client and the gateway know about a request.
func (s *stage) join(results []*vegeta.Result) []Request {
	requests := make([]Request, len(results))
	for i, result := range results {
		requests[i] = Request{
			Endpoint: result.Headers.Get(modelserver.ServedByHeader),
			Sent:     result.Timestamp.Sub(s.started),
			Latency:  result.Latency,
			Failure:  failureOf(result),
		}
		access, found := s.accessOf(result)
		if !found {
			continue
		}
		requests[i].Worker = access.Worker
		requests[i].DecisionBegan = access.HeadersBegan - s.base
		requests[i].DecisionEnded = access.HeadersEnded - s.base
	}
	sortBySent(requests)
	return requests
}

func (s *stage) accessOf(result *vegeta.Result) (gateway.Access, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	access, found := s.accesses[result.Headers.Get(requestIDHeader)]
	return access, found
}
