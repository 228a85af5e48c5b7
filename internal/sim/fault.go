package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"endpoint-breaker/internal/wasmhost"
)

// Fault makes host calls go wrong from its event on. It does exactly one of:
// answer a Status, Trap, hand back Junk, or let other workers be faster: one that
// writes the blocklist just before the call (OtherWrites), or all of them with
// what they find in their ticks (OtherTicks).
type Fault struct {
	// Call is the ABI name of a host call, such as proxy_set_shared_data; without
	// Status and Junk it may also be a callback, such as proxy_on_tick.
	Call     string   `json:"call"`
	Argument string   `json:"argument"` // only calls whose first text this is: a key, a header, a property's path
	Worker   *int     `json:"worker"`   // only this worker; by default all, and the base VM too
	Every    int      `json:"every"`    // each so many-th of these calls, beginning with the first; 0 = each one
	Times    int      `json:"times"`    // so many calls in all; 0 = no limit
	For      Duration `json:"for"`      // so long; 0 = to the end of the run

	Status      string `json:"status"`      // not_found, bad_argument, empty, cas_mismatch, internal_failure, unimplemented
	KeepEffect  bool   `json:"keep_effect"` // with status: the call is made all the same
	Trap        bool   `json:"trap"`
	Junk        bool   `json:"junk"`
	OtherWrites bool   `json:"other_writes"` // the value stays as it is, its CAS number changes
	OtherTicks  bool   `json:"other_ticks"`  // the other workers look at their requests in flight, and write what they find
}

// statuses are the answers that a fault may give, by their names in a file.
func statuses() map[string]wasmhost.Status {
	return map[string]wasmhost.Status{
		"not_found":        wasmhost.StatusNotFound,
		"bad_argument":     wasmhost.StatusBadArgument,
		"empty":            wasmhost.StatusEmpty,
		"cas_mismatch":     wasmhost.StatusCasMismatch,
		"internal_failure": wasmhost.StatusInternalFailure,
		"unimplemented":    wasmhost.StatusUnimplemented,
	}
}

func (f *Fault) validate(s *Scenario) error {
	if err := at("call", knownCall(f.Call)); err != nil {
		return err
	}
	effects := 0
	for _, given := range []bool{f.Status != "", f.Trap, f.Junk, f.OtherWrites, f.OtherTicks} {
		if given {
			effects++
		}
	}
	if effects != 1 {
		return fmt.Errorf("given %d effects; should be exactly one of status, trap, junk, other_writes, other_ticks", effects)
	}
	return firstOf(f.validateEffect(), f.validateExtent(s))
}

// validateEffect refuses what the call cannot do: nothing would happen.
func (f *Fault) validateEffect() error {
	call, isHostCall := hostCalls()[f.Call]
	switch {
	case !isHostCall && (f.Status != "" || f.Junk):
		return at("call", fmt.Errorf("given %q; is a callback, which goes with trap, other_writes and other_ticks only", f.Call))
	case f.Junk && !call.bytes:
		return at("junk", fmt.Errorf("%s hands no bytes to the plugin; should be one of %s", f.Call, strings.Join(callsThat(handBytes), ", ")))
	case f.Argument != "" && !call.argument:
		return at("argument", fmt.Errorf("%s has no text to compare it with; should be one of %s", f.Call, strings.Join(callsThat(haveArgument), ", ")))
	case f.KeepEffect && f.Status == "":
		return at("keep_effect", errors.New("goes with status only"))
	case f.Status != "":
		return at("status", oneOf(f.Status, slices.Sorted(maps.Keys(statuses()))...))
	default:
		return nil
	}
}

// validateExtent checks to which calls the fault is limited.
func (f *Fault) validateExtent(s *Scenario) error {
	if err := firstOf(at("every", notNegative(f.Every)), at("times", notNegative(f.Times))); err != nil {
		return err
	}
	if f.Worker != nil && (*f.Worker < 0 || *f.Worker >= slices.Min(s.Workers)) {
		return at("worker", fmt.Errorf("given %d; should be 0 to %d", *f.Worker, slices.Min(s.Workers)-1))
	}
	return nil
}

func (f *Fault) run(_ context.Context, m *simulation) error {
	calls, left := 0, f.Times
	remove := m.faults.Add(func(call wasmhost.HostCall) wasmhost.Fault {
		if !f.concerns(call) || (f.Times > 0 && left == 0) {
			return wasmhost.Fault{}
		}
		calls++
		if (calls-1)%max(f.Every, 1) > 0 {
			return wasmhost.Fault{}
		}
		left--
		m.log.Line("fault in %s of %s", call.Name, workerName(call.Worker))
		return f.effect(m, call)
	})
	if f.For > 0 {
		m.queue.at(m.now()+time.Duration(f.For), func() error {
			remove()
			return nil
		})
	}
	return nil
}

func (f *Fault) concerns(call wasmhost.HostCall) bool {
	return call.Name == f.Call &&
		(f.Argument == "" || call.Argument == f.Argument) &&
		(f.Worker == nil || call.Worker == *f.Worker)
}

func (f *Fault) effect(m *simulation, call wasmhost.HostCall) wasmhost.Fault {
	switch {
	case f.Trap:
		return wasmhost.Fault{Trap: "trap on demand in " + f.Call}
	case f.Junk:
		return wasmhost.Fault{Replace: func([]byte) []byte { return []byte("\xff\x00{junk") }}
	case f.OtherWrites:
		return wasmhost.Fault{Before: func() { m.rewriteBlocklist() }}
	case f.OtherTicks:
		return wasmhost.Fault{Before: func() { m.tickOthers(call.Worker) }}
	default:
		return wasmhost.Fault{Status: statuses()[f.Status], KeepEffect: f.KeepEffect}
	}
}

// String describes the fault for the log.
func (f *Fault) String() string {
	effect := f.Status
	switch {
	case f.Trap:
		effect = "trap"
	case f.Junk:
		effect = "junk"
	case f.OtherWrites:
		effect = "another worker writes before it"
	case f.OtherTicks:
		effect = "the other workers tick before it"
	}
	return fmt.Sprintf("from now on %s: %s", f.Call, effect)
}
