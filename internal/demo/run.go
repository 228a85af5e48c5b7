// Package demo plays a story in real time and judges it: one of three model servers
// behind the gateway turns slow, the plugin keeps traffic away from it, the server
// heals, and the plugin lets it come back.
package demo

import (
	"context"
	"errors"
	"fmt"

	vegeta "github.com/tsenart/vegeta/v12/lib"
	"golang.org/x/sync/errgroup"

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
	r.Requests, err = s.join(results)
	return r, err
}

// play has the clients call and the fault come and go. The recording lacks the
// requests yet.
func (s *stage) play(ctx context.Context) (*Recording, []*vegeta.Result, error) {
	s.begin()
	group, groupCtx := errgroup.WithContext(ctx)
	storyCtx, over := context.WithCancel(groupCtx)
	defer over()
	group.Go(func() error { return s.listen(storyCtx) })
	group.Go(func() error { return s.options.Audience(storyCtx, s.board) })
	r := &Recording{Plan: s.options.Plan, Gateway: s.options.Gateway, Workers: s.options.Workers, Slow: s.slow().Name()}
	var results []*vegeta.Result
	group.Go(func() error {
		defer over()
		err := s.tell(storyCtx, r)
		s.slow().Heal() // whatever happened, nobody need wait any longer
		r.End, r.Blocks = s.now(), s.blocks()
		results = s.load.stop()
		return err
	})
	err := group.Wait()
	for _, server := range s.servers {
		r.Endpoints = append(r.Endpoints, server.Name())
	}
	return r, results, err
}

// listen returns what the gateway finds wrong with itself, nothing when ctx ends before.
func (s *stage) listen(ctx context.Context) error {
	select {
	case err := <-s.trouble:
		return err
	case <-ctx.Done():
		return nil
	}
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
	blocked := s.book.waitFor(patience, slow.Address())
	cancel()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !blocked {
		s.board.add(gaveUpEvent(slow.Name(), plan.GiveUpAfter))
		return nil
	}
	block := s.blockOf(slow)
	s.board.add(blockEvent(block))

	if err := s.until(ctx, block.Since+plan.HealAfter); err != nil {
		return err
	}
	slow.Heal()
	r.Heal = s.now()
	s.board.add(healEvent(slow.Name()))

	if err := s.until(ctx, s.blockOf(slow).Until); err != nil {
		return err
	}
	s.board.add(returnEvent(slow.Name()))
	return s.until(ctx, s.blockOf(slow).Until+plan.Afterwards)
}

// blockOf is asked again and again: the plugin may extend a block.
func (s *stage) blockOf(server *modelserver.Server) Block {
	block, _ := firstOf(server.Name(), s.blocks())
	return block
}

// join makes one record of what the client and the gateway know about a request. An answer
// that the gateway knows nothing of is an error: nobody could say when it was decided about.
func (s *stage) join(results []*vegeta.Result) ([]Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests, unknown := make([]Request, len(results)), 0
	for i, result := range results {
		requests[i] = Request{
			Endpoint: result.Headers.Get(modelserver.ServedByHeader),
			Sent:     result.Timestamp.Sub(s.started),
			Latency:  result.Latency,
			Failure:  failureOf(result),
		}
		decision, found := s.decisions[result.Headers.Get(requestIDHeader)]
		if !found {
			if requests[i].Endpoint != "" {
				unknown++
			}
			continue
		}
		requests[i].DecisionBegan = decision.began.Sub(s.started)
		requests[i].DecisionEnded = decision.ended.Sub(s.started)
	}
	if unknown > 0 {
		return nil, fmt.Errorf("%d of %d requests are not in the gateway's access log", unknown, len(results))
	}
	sortBySent(requests)
	return requests, nil
}
