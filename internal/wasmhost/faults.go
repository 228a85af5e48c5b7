package wasmhost

import (
	"slices"
	"sync"
)

// HostCall is one call of a guest into the host, or the start of a callback
// into a guest, as a fault rule sees it.
type HostCall struct {
	Name     string // the ABI name: proxy_get_shared_data, or proxy_on_tick for the start of a callback
	Worker   int    // index of the worker, or BaseVM
	Count    uint64 // 1 for the first call of this name in this VM
	Phase    string // the callback that is running; equal to Name at the start of a callback
	Context  uint32 // the effective context's id
	Argument string // the call's first text: key, header, property path joined by ".", metric, log message; else ""
}

// Fault is what a rule does to one call. The zero value does nothing.
type Fault struct {
	// Before runs first, on the worker's goroutine, with no lock held: it may
	// write shared data, move the clock or drive another worker, but not the
	// worker that makes the call.
	Before func()
	// Trap, when not empty, ends the callback as an unrecovered panic would, with
	// this text. The worker is dead from then on.
	Trap string
	// Status, when not StatusOK, is answered to the guest. The call is not made,
	// and nothing is written to the guest's memory, unless KeepEffect is set.
	Status Status
	// KeepEffect makes the call all the same; only its answer is Status.
	KeepEffect bool
	// Replace changes the bytes that the call hands to the guest (values, header
	// maps in their wire form, host lists, buffers). The result may have any length.
	Replace func(value []byte) []byte
}

// FaultRule is asked at every host call and at the start of every callback. It
// runs on the worker's goroutine, so a rule for several workers must be safe for
// concurrent use. Only Before and Trap matter at the start of a callback.
type FaultRule func(HostCall) Fault

// Faults is a set of rules that can change while a plugin runs. It is safe for
// concurrent use. A nil *Faults has no rules.
type Faults struct {
	mu    sync.RWMutex
	rules []*FaultRule
}

// NewFaults returns a set that holds the given rules.
func NewFaults(rules ...FaultRule) *Faults {
	f := &Faults{}
	for _, rule := range rules {
		f.Add(rule)
	}
	return f
}

// Add puts a rule behind the others and returns what removes it again.
func (f *Faults) Add(rule FaultRule) (remove func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	added := &rule
	f.rules = append(slices.Clone(f.rules), added)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.rules = slices.DeleteFunc(slices.Clone(f.rules), func(r *FaultRule) bool { return r == added })
	}
}

// ask returns what the first rule that changes the call wants, and runs Before
// of every rule up to it.
func ask(rules []*FaultRule, call HostCall) Fault {
	for _, rule := range rules {
		fault := (*rule)(call)
		if fault.Before != nil {
			fault.Before()
		}
		if fault.Trap != "" || fault.Status != StatusOK || fault.Replace != nil {
			return fault
		}
	}
	return Fault{}
}

// inOrder returns the rules, the oldest first.
func (f *Faults) inOrder() []*FaultRule {
	if f == nil {
		return nil
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.rules
}

// FailCall answers status to every call of that ABI name, in every VM, without
// making it.
func FailCall(name string, status Status) FaultRule {
	return func(call HostCall) Fault {
		if call.Name != name {
			return Fault{}
		}
		return Fault{Status: status}
	}
}

// BeforeCall runs the function before every call of that ABI name, in every VM.
func BeforeCall(name string, run func(HostCall)) FaultRule {
	return func(call HostCall) Fault {
		if call.Name != name {
			return Fault{}
		}
		return Fault{Before: func() { run(call) }}
	}
}

// ReplaceBytes hands the guest these bytes instead of those that the call of
// that ABI name would have given.
func ReplaceBytes(name string, junk []byte) FaultRule {
	return func(call HostCall) Fault {
		if call.Name != name {
			return Fault{}
		}
		return Fault{Replace: func([]byte) []byte { return junk }}
	}
}

// TrapIn kills the given worker at its next call of that ABI name, or at the
// start of the callback of that name.
func TrapIn(worker int, name string) FaultRule {
	return func(call HostCall) Fault {
		if call.Name != name || call.Worker != worker {
			return Fault{}
		}
		return Fault{Trap: "trap on demand in " + name}
	}
}
