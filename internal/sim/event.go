package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"endpoint-breaker/internal/wasmhost"
)

// Event is something that happens to the gateway or its hosts at a moment. It
// is of exactly one kind.
type Event struct {
	At *Duration `json:"at"`
	// Every lets it happen again each time so much has passed, before Until; 0 = once.
	Every Duration  `json:"every"`
	Until *Duration `json:"until"` // by default the end of the run

	WallJump  *WallJump   `json:"wall_jump"`
	Configure *Configure  `json:"configure"`
	Add       *AddHosts   `json:"add"`
	Remove    *RemoveHost `json:"remove"`
	Health    *SetHealth  `json:"health"`
	Order     *OrderHosts `json:"order"`
	Fault     *Fault      `json:"fault"`
}

// action is what an event of one kind does.
type action interface {
	validate(s *Scenario) error
	run(ctx context.Context, m *simulation) error
	String() string // for the log
}

// Moments returns when the event happens in a run of that length.
func (e Event) Moments(end Duration) []time.Duration {
	moments := []time.Duration{time.Duration(*e.At)}
	if e.Every == 0 {
		return moments
	}
	for moment := *e.At + e.Every; moment < e.last(end); moment += e.Every {
		moments = append(moments, time.Duration(moment))
	}
	return moments
}

// last is when the event does not happen again any more.
func (e Event) last(end Duration) Duration {
	if e.Until == nil {
		return end
	}
	return min(*e.Until, end)
}

func (e Event) validateTimes(end Duration) error {
	switch {
	case e.At == nil:
		return at("at", momentMissing())
	case *e.At > end:
		return at("at", fmt.Errorf("given %s; the run ends at %s", *e.At, end))
	case e.Until != nil && e.Every == 0:
		return at("until", errors.New("goes with every only"))
	case e.Until != nil && *e.Until <= *e.At:
		return at("until", fmt.Errorf("given %s; should be after at, %s", *e.Until, *e.At))
	default:
		return nil
	}
}

// String describes the event for the log.
func (e Event) String() string {
	_, what, err := e.action()
	if err != nil {
		return err.Error() // no scenario with it is ever read
	}
	return what.String()
}

// action returns what the event does, and what the file calls that.
func (e Event) action() (kind string, what action, err error) { return chosen[action](e) }

// WallJump moves the wall clock, forwards or back; the monotonic clock runs on.
type WallJump struct {
	By SignedDuration `json:"by"`
}

func (w *WallJump) validate(*Scenario) error {
	if w.By == 0 {
		return at("by", errors.New(`is missing; should be a duration, such as "1h" or "-1h"`))
	}
	return nil
}

func (w *WallJump) run(_ context.Context, m *simulation) error {
	m.clock.JumpWall(time.Duration(w.By))
	return nil
}

func (w *WallJump) String() string { return fmt.Sprintf("wall clock jumps by %s", w.By) }

// Configure pushes another plugin configuration. When the plugin refuses it,
// the old one goes on serving, and the expectation configurations_refused
// counts it.
type Configure struct {
	Plugin json.RawMessage `json:"plugin"`
}

func (c *Configure) validate(s *Scenario) error {
	if c.Plugin == nil {
		return at("plugin", errors.New("is missing; should be the new configuration"))
	}
	return at("plugin", s.validateRules(c.Plugin))
}

func (c *Configure) run(ctx context.Context, m *simulation) error {
	err := m.plugin.Reconfigure(ctx, string(c.Plugin))
	var refused *wasmhost.ConfigurationRefusedError
	var trap *wasmhost.TrapError // counted at the end, like any other
	switch {
	case errors.As(err, &refused):
		m.result.NoteRefusal(m.now(), whyRefused(refused))
		m.log.Line("configuration refused")
	case err != nil && !errors.As(err, &trap):
		return err
	}
	m.startTicks()
	return nil
}

func (c *Configure) String() string { return fmt.Sprintf("configuration %s", c.Plugin) }

// AddHosts puts endpoints into their cluster.
type AddHosts struct {
	Endpoints []string `json:"endpoints"`
}

func (a *AddHosts) validate(s *Scenario) error { return validNames(a.Endpoints, s) }

func (a *AddHosts) run(_ context.Context, m *simulation) error {
	for _, name := range a.Endpoints {
		m.endpoints[name].cluster.add(m.endpoints[name])
	}
	return nil
}

func (a *AddHosts) String() string { return "add " + strings.Join(a.Endpoints, " ") }

// RemoveHost takes endpoints out of their cluster. Requests that are there
// already are still answered.
type RemoveHost struct {
	Endpoints []string `json:"endpoints"`
}

func (r *RemoveHost) validate(s *Scenario) error { return validNames(r.Endpoints, s) }

func (r *RemoveHost) run(_ context.Context, m *simulation) error {
	for _, name := range r.Endpoints {
		m.endpoints[name].cluster.remove(m.endpoints[name])
	}
	return nil
}

func (r *RemoveHost) String() string { return "remove " + strings.Join(r.Endpoints, " ") }

// SetHealth changes what health checks say of endpoints.
type SetHealth struct {
	Endpoints []string `json:"endpoints"`
	Status    string   `json:"status"` // Healthy, Degraded, Unhealthy, Draining, Timeout
}

func (h *SetHealth) validate(s *Scenario) error {
	return firstOf(
		at("status", oneOf(h.Status, "Healthy", "Degraded", "Unhealthy", "Draining", "Timeout")),
		validNames(h.Endpoints, s),
	)
}

func (h *SetHealth) run(_ context.Context, m *simulation) error {
	for _, name := range h.Endpoints {
		m.endpoints[name].health = h.Status
	}
	return nil
}

func (h *SetHealth) String() string {
	return fmt.Sprintf("%s now %s", strings.Join(h.Endpoints, " "), h.Status)
}

// OrderHosts moves endpoints to the front of their cluster's list, in that
// order, as an update from the registry may.
type OrderHosts struct {
	Endpoints []string `json:"endpoints"`
}

func (o *OrderHosts) validate(s *Scenario) error { return validNames(o.Endpoints, s) }

func (o *OrderHosts) run(_ context.Context, m *simulation) error {
	for _, name := range slices.Backward(o.Endpoints) {
		m.endpoints[name].cluster.moveToFront(m.endpoints[name])
	}
	return nil
}

func (o *OrderHosts) String() string { return "order " + strings.Join(o.Endpoints, " ") }

func momentMissing() error {
	return errors.New(`is missing; should be a moment, such as "5m"`)
}

func validNames(endpoints []string, s *Scenario) error {
	if len(endpoints) == 0 {
		return at("endpoints", errors.New("is missing; should be a list of endpoints' names"))
	}
	return at("endpoints", s.knowsEndpoints(endpoints...))
}
