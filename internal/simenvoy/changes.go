package simenvoy

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"endpoint-breaker/internal/envoy"
	"endpoint-breaker/internal/sim"
)

// change is an event of the scenario and how it went.
type change struct {
	at    time.Duration // when it should happen
	event sim.Event
	late  time.Duration // by how much later, in real time, it had happened
	// Of a new configuration: whether it is in force, or why not.
	configured bool
	refused    string
}

// occurrences are all events in the order of their moments.
func occurrences(s *sim.Scenario) []change {
	var all []change
	for _, e := range s.Events {
		for _, moment := range e.Moments(s.Duration) {
			all = append(all, change{at: moment, event: e})
		}
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	return all
}

// change lets the events of the scenario happen, one after the other.
func (p *Player) change(ctx context.Context) error {
	for _, c := range occurrences(p.scenario) {
		if err := p.clock.wait(ctx, c.at); err != nil {
			return err
		}
		if err := p.happen(ctx, &c); err != nil {
			return err
		}
		c.late = time.Since(p.clock.at(c.at))
		p.changes = append(p.changes, c)
	}
	return nil
}

func (p *Player) happen(ctx context.Context, c *change) error {
	switch e := c.event; {
	case e.Configure != nil:
		return p.configure(ctx, c)
	case e.Add != nil:
		return p.register(ctx, e.Add.Endpoints, p.endpoints.add)
	case e.Remove != nil:
		return p.register(ctx, e.Remove.Endpoints, p.endpoints.remove)
	default:
		reversed := slices.Clone(e.Order.Endpoints)
		slices.Reverse(reversed)
		return p.register(ctx, reversed, p.endpoints.moveToFront)
	}
}

// register changes what the registry tells of some endpoints.
func (p *Player) register(ctx context.Context, names []string, change func(*endpoint)) error {
	concerned := map[string]bool{}
	for _, name := range names {
		change(p.endpoints.byName[name])
		concerned[p.endpoints.byName[name].cluster] = true
	}
	for cluster := range concerned {
		if err := p.envoy.SetEndpoints(ctx, cluster, p.endpoints.addresses(cluster)...); err != nil {
			return err
		}
	}
	return nil
}

// configure gives the plugin another configuration. It holds for new connections, so that the
// requests from now on need new ones.
func (p *Player) configure(ctx context.Context, c *change) error {
	listener, err := p.listener(c.event.Configure.Plugin)
	if err != nil {
		return err
	}
	err = p.envoy.SetListener(ctx, listener)
	var refused *envoy.RefusedError
	if errors.As(err, &refused) {
		c.refused = whyRefused(refused)
		return nil
	}
	if err != nil {
		return err
	}
	c.configured = true
	return p.lanes.renew(ctx)
}

// whyRefused is the plugin's reason, or what else Envoy has against it.
func whyRefused(refused *envoy.RefusedError) string {
	for line := range strings.Lines(refused.Reason) {
		if reason, found := sim.RefusalReason(strings.TrimSpace(line)); found {
			return reason
		}
	}
	return sim.OneLine(refused).Error()
}
