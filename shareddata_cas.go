package main

import (
	"errors"
	"fmt"
)

// maxCASRetries bounds how often a write starts over because another worker was faster.
const maxCASRetries = 10

// casOfMissingKey goes with the first write. SharedData creates a missing key whatever number
// comes with it; 0 would overwrite a worker that was faster, and this one is never given out.
const casOfMissingKey = ^uint32(0)

var (
	errKeyMissing  = errors.New("key missing")
	errCASMismatch = errors.New("another worker wrote first")
	errCASGiveUp   = fmt.Errorf("gave up after %d CAS retries", maxCASRetries)
)

// sharedData is the host's store, common to all workers of a process. get reports a missing
// key as errKeyMissing, set a wrong CAS number as errCASMismatch; any other error is a failed
// host call.
type sharedData interface {
	get(key string) (value []byte, cas uint32, err error)
	set(key string, value []byte, cas uint32) error
}

// document is a state of what all workers share under one key. It is never changed: a writer
// derives the next one from it.
type document interface{ encode() []byte }

// sharedDocument is one worker's access to a document: a cache that tells by the CAS number
// whether the value in SharedData is still the one it has parsed, and writes that lose nothing.
type sharedDocument[D document] struct {
	data sharedData
	key  string
	// decode returns what can be believed of a stored value, at worst an empty document, and an
	// error that says what could not. Of no value at all it makes an empty one.
	decode   func(value []byte, now instant) (D, error)
	onDamage func(error) // told once for each stored value that could not be believed

	parsed D      // as it was last read
	cas    uint32 // of the value that was parsed
	sound  bool   // the stored value is there and was believed
}

func newSharedDocument[D document](data sharedData, key string, decode func([]byte, instant) (D, error), onDamage func(error)) *sharedDocument[D] {
	d := &sharedDocument[D]{data: data, key: key, decode: decode, onDamage: onDamage}
	d.reset()
	return d
}

// reset is the state of a key that is not there.
func (d *sharedDocument[D]) reset() {
	d.parsed, _ = d.decode(nil, unknown)
	d.cas, d.sound = casOfMissingKey, false
}

// read returns the document as it is now: one host call, parsed only when another value has
// been written since. It is never nil: when the call fails it is the last one known.
func (d *sharedDocument[D]) read(now instant) (D, error) {
	value, cas, err := d.data.get(d.key)
	if errors.Is(err, errKeyMissing) {
		d.reset()
		return d.parsed, nil
	}
	if err != nil {
		return d.parsed, fmt.Errorf("reading %s: %w", d.key, err)
	}
	if cas == d.cas {
		return d.parsed, nil
	}
	parsed, damage := d.decode(value, now)
	d.parsed, d.cas, d.sound = parsed, cas, damage == nil
	if damage != nil {
		d.onDamage(damage)
	}
	return d.parsed, nil
}

// update writes what change makes of the current document. When another worker is faster it
// starts over, and change is called again with that worker's document; errCASGiveUp ends this.
// A change that is not ok leaves the stored value alone. conflicts counts the races that were
// lost.
func (d *sharedDocument[D]) update(now instant, change func(D) (next D, ok bool)) (conflicts int, err error) {
	for conflicts <= maxCASRetries {
		current, err := d.read(now)
		if err != nil {
			return conflicts, err
		}
		next, ok := change(current)
		if !ok {
			return conflicts, nil
		}
		err = d.data.set(d.key, next.encode(), d.cas)
		if err == nil {
			return conflicts, nil
		}
		if !errors.Is(err, errCASMismatch) {
			return conflicts, fmt.Errorf("writing %s: %w", d.key, err)
		}
		conflicts++
	}
	return conflicts, fmt.Errorf("writing %s: %w", d.key, errCASGiveUp)
}
