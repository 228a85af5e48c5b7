package wasmhost

import (
	"bytes"
	"maps"
	"slices"
	"sync"
)

// SharedData is the store that all VMs of one vm_id share, with the rules of
// proxy-wasm-cpp-host (src/shared_data.cc and its test). It is safe for
// concurrent use and outlives a trapped worker.
type SharedData struct {
	mu      sync.RWMutex
	entries map[string]sharedEntry
	lastCas uint32
}

type sharedEntry struct {
	value []byte
	cas   uint32
}

// NewSharedData returns an empty store.
func NewSharedData() *SharedData {
	return &SharedData{entries: map[string]sharedEntry{}}
}

// Get returns a copy of the value and its CAS number, or StatusNotFound.
func (d *SharedData) Get(key string) (value []byte, cas uint32, status Status) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	entry, found := d.entries[key]
	if !found {
		return nil, 0, StatusNotFound
	}
	return bytes.Clone(entry.value), entry.cas, StatusOK
}

// Set writes a copy of value. With cas 0 it always succeeds. With another
// number it answers StatusCasMismatch, and changes nothing, when the key exists
// with a number that differs. A missing key is created whatever the number.
// Every successful write gives the key a new number, never 0, from one counter
// of the store.
func (d *SharedData) Set(key string, value []byte, cas uint32) Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	entry, found := d.entries[key]
	if found && cas != 0 && cas != entry.cas {
		return StatusCasMismatch
	}
	d.entries[key] = sharedEntry{value: bytes.Clone(value), cas: d.nextCas()}
	return StatusOK
}

// Keys returns all keys in order. Guests have no such call: it is for tests and
// tools.
func (d *SharedData) Keys() []string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Sorted(maps.Keys(d.entries))
}

// nextCas must run with the lock held. 0 means "do not check" to Set, so the
// counter steps over it when it wraps.
func (d *SharedData) nextCas() uint32 {
	d.lastCas++
	if d.lastCas == 0 {
		d.lastCas++
	}
	return d.lastCas
}
