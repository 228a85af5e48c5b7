package main

import (
	"errors"
	"fmt"
	"time"
)

// blocklistKey is the one key in SharedData for all clusters; other plugins live in the same
// store, hence the prefix.
const blocklistKey = "endpoint-breaker.blocklist"

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

// blockStore is one worker's access to the blocklist: a cache that tells by the CAS number
// whether the value in SharedData is still the one it has parsed, and writes that lose nothing.
type blockStore struct {
	data     sharedData
	onDamage func(error) // told once for each stored value that could not be believed

	parsed *blocklist
	cas    uint32 // of the value that was parsed
	sound  bool   // the stored value is there and was believed
}

func newBlockStore(data sharedData, onDamage func(error)) *blockStore {
	return &blockStore{data: data, onDamage: onDamage, parsed: newBlocklist(nil), cas: casOfMissingKey}
}

// read returns the blocklist as it is now: one host call, parsed only when another value has
// been written since. The list is never nil: when the call fails it is the last one known.
func (s *blockStore) read(now instant) (*blocklist, error) {
	value, cas, err := s.data.get(blocklistKey)
	if errors.Is(err, errKeyMissing) {
		s.parsed, s.cas, s.sound = newBlocklist(nil), casOfMissingKey, false
		return s.parsed, nil
	}
	if err != nil {
		return s.parsed, fmt.Errorf("reading %s: %w", blocklistKey, err)
	}
	if cas == s.cas {
		return s.parsed, nil
	}
	list, damage := decodeBlocklist(value, now)
	s.parsed, s.cas, s.sound = list, cas, damage == nil
	if damage != nil {
		s.onDamage(damage)
	}
	return s.parsed, nil
}

// update writes what change makes of the current blocklist. When another worker is faster it
// starts over, and change is called again with that worker's list; errCASGiveUp ends this.
// A change to nil leaves the stored value alone. conflicts counts the races that were lost.
func (s *blockStore) update(now instant, change func(*blocklist) *blocklist) (conflicts int, err error) {
	for conflicts <= maxCASRetries {
		list, err := s.read(now)
		if err != nil {
			return conflicts, err
		}
		next := change(list)
		if next == nil {
			return conflicts, nil
		}
		err = s.data.set(blocklistKey, next.encode(), s.cas)
		if err == nil {
			return conflicts, nil
		}
		if !errors.Is(err, errCASMismatch) {
			return conflicts, fmt.Errorf("writing %s: %w", blocklistKey, err)
		}
		conflicts++
	}
	return conflicts, fmt.Errorf("writing %s: %w", blocklistKey, errCASGiveUp)
}

// seed is called at every plugin start. It puts a sound value into SharedData where there is
// none, and shortens the blocks of an earlier configuration to the longest that this one gives.
func (s *blockStore) seed(now instant, longest time.Duration) (conflicts int, err error) {
	return s.update(now, func(list *blocklist) *blocklist {
		next := list.shortened(now, longest)
		if next == list && s.sound {
			return nil
		}
		return next
	})
}
