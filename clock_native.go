//go:build !wasip1

package main

import "time"

// monotonicNow exists so that the package builds outside Wasm, where no host calls it: the
// algorithm's tests hand in the time.
func monotonicNow() instant { return instant(time.Now().UnixNano()) }
