// Package blocklist reads the plugin's blocklist as it stands in SharedData, for tools and
// tests that look at it from outside. The format is that of docs/design.md, Behavior 3.
package blocklist

import (
	"encoding/json"
	"fmt"
	"time"

	"endpoint-breaker/internal/wasmhost"
)

// Key is where the plugin keeps its blocklist.
const Key = "endpoint-breaker.blocklist"

// version is the format that this package understands.
const version = 1

// Entry is what the list says of one endpoint: a block while Until lies in the future.
type Entry struct {
	Cluster  string        `json:"cluster"`
	Endpoint string        `json:"endpoint"`
	Since    time.Duration `json:"since"` // of the host's monotonic clock, as Until
	Until    time.Duration `json:"until"`
	Strikes  int           `json:"strikes"`
	Reason   string        `json:"reason"`
	Observed bool          `json:"observed"` // by mode observe: steers nothing
}

// Parse reads a stored value. The error names the key and shows what was found.
func Parse(value []byte) ([]Entry, error) {
	var document struct {
		Version int     `json:"version"`
		Blocks  []Entry `json:"blocks"`
	}
	if err := json.Unmarshal(value, &document); err != nil {
		return nil, fmt.Errorf("shared data %s: %w in %q", Key, err, value)
	}
	if document.Version != version {
		return nil, fmt.Errorf("shared data %s: got version %d, want %d", Key, document.Version, version)
	}
	return document.Blocks, nil
}

// Reader follows the list in one store. It is not safe for concurrent use.
type Reader struct {
	store *wasmhost.SharedData
	cas   uint32
}

// NewReader returns a Reader for which the first value is a change.
func NewReader(store *wasmhost.SharedData) *Reader { return &Reader{store: store} }

// Changed returns the list if it was written since the last call that returned one. A missing
// key is no change; a value that cannot be read is an error once.
func (r *Reader) Changed() (entries []Entry, changed bool, err error) {
	value, cas, status := r.store.Get(Key)
	if status != wasmhost.StatusOK || cas == r.cas {
		return nil, false, nil
	}
	r.cas = cas
	entries, err = Parse(value)
	return entries, err == nil, err
}
