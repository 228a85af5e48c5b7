package wasmhost

import (
	"errors"
	"fmt"
)

// Chain is the filter chain of one listener: several plugins, each with VMs,
// shared data and metrics of its own. On Envoy plugins of one vm_id share their
// data; Higress gives each plugin its own.
type Chain struct {
	plugins []*Plugin
}

// NewChain makes a chain of loaded plugins, the one that sees requests first in
// front: phase and priority in falling order. All must have the same clock and
// the same number of workers, and none may be in twice. The plugins stay the
// caller's to close.
func NewChain(plugins ...*Plugin) (*Chain, error) {
	if len(plugins) == 0 {
		return nil, errors.New("a chain needs at least one plugin")
	}
	seen := map[*Plugin]bool{}
	for i, p := range plugins {
		switch {
		case seen[p]:
			return nil, fmt.Errorf("plugin %d of the chain is in it twice: load it once for each place", i)
		case p.options.Clock != plugins[0].options.Clock:
			return nil, fmt.Errorf("plugin %d of the chain has a clock of its own: all filters of a worker share one", i)
		case p.Workers() != plugins[0].Workers():
			return nil, fmt.Errorf("plugin %d of the chain has %d workers and the first one %d", i, p.Workers(), plugins[0].Workers())
		}
		seen[p] = true
	}
	return &Chain{plugins: plugins}, nil
}

// NewStream begins a stream on a worker, 0 to Workers()-1 of each plugin. It
// must be closed.
func (c *Chain) NewStream(worker int, table RouteTable) (*ChainStream, error) {
	e := newExchange(table)
	for _, p := range c.plugins {
		p.Worker(worker).addFilter(e)
	}
	return &ChainStream{Exchange: e}, nil
}

// Tick runs the ticks of every plugin on a worker, 0 to Workers()-1 of each, as
// Worker.Tick does for one. The base VMs are no part of the chain: Plugin.Base
// of each plugin drives its own.
func (c *Chain) Tick(worker int) error {
	return c.each(worker, (*Worker).Tick)
}

// Pending is the number of answers that wait for the plugins on a worker, not
// for their base VMs.
func (c *Chain) Pending(worker int) int {
	pending := 0
	for _, p := range c.plugins {
		pending += p.Worker(worker).Pending()
	}
	return pending
}

// Deliver hands the plugins on a worker, not their base VMs, the answers that
// wait for them, as Worker.Deliver does for one.
func (c *Chain) Deliver(worker int) error {
	return c.each(worker, (*Worker).Deliver)
}

func (c *Chain) each(worker int, act func(*Worker) error) error {
	var failed []error
	for _, p := range c.plugins {
		failed = append(failed, act(p.Worker(worker)))
	}
	return errors.Join(failed...)
}

// ChainStream is one HTTP request and its response on their way through all
// filters of a chain. The request's pieces go in at the first filter, the
// response's at the last one. It belongs to its worker: one goroutine at a time.
type ChainStream struct {
	*Exchange
}

// Filter gives the stream as the i-th plugin of the chain sees it.
func (s *ChainStream) Filter(i int) *Stream { return s.filters[i] }

// RequestHeaders hands in the request's headers.
func (s *ChainStream) RequestHeaders(h Headers, endStream bool) (Flow, error) {
	_, err := s.atClient().RequestHeaders(h, endStream)
	return s.requestFlow(), err
}

// RequestData hands in a piece of the request's body, which may be empty.
func (s *ChainStream) RequestData(chunk []byte, endStream bool) (Flow, error) {
	_, err := s.atClient().RequestData(chunk, endStream)
	return s.requestFlow(), err
}

// RequestTrailers hands in the request's trailers, which end it.
func (s *ChainStream) RequestTrailers(h Headers) (Flow, error) {
	_, err := s.atClient().RequestTrailers(h)
	return s.requestFlow(), err
}

// ResponseHeaders hands in the response's headers, as Stream.ResponseHeaders.
func (s *ChainStream) ResponseHeaders(h Headers, endStream bool) (Flow, error) {
	_, err := s.atUpstream().ResponseHeaders(h, endStream)
	return s.responseFlow(), err
}

// ResponseData hands in a piece of the response's body, which may be empty.
func (s *ChainStream) ResponseData(chunk []byte, endStream bool) (Flow, error) {
	_, err := s.atUpstream().ResponseData(chunk, endStream)
	return s.responseFlow(), err
}

// ResponseTrailers hands in the response's trailers, which end it.
func (s *ChainStream) ResponseTrailers(h Headers) (Flow, error) {
	_, err := s.atUpstream().ResponseTrailers(h)
	return s.responseFlow(), err
}

func (s *ChainStream) requestFlow() Flow {
	return s.flowOf(func(f *Stream) *half { return &f.request })
}

func (s *ChainStream) responseFlow() Flow {
	return s.flowOf(func(f *Stream) *half { return &f.response })
}

// flowOf is FlowStopped when any filter holds something of that direction.
func (s *ChainStream) flowOf(direction func(*Stream) *half) Flow {
	for _, f := range s.filters {
		if flow := direction(f).flow(); flow != FlowContinue {
			return flow
		}
	}
	return FlowContinue
}
