//go:build wasip1

package main

import "unsafe"

// clockMonotonic is WASI's id of the monotonic clock. Go's time package hides its absolute
// value, which is what workers have in common.
const clockMonotonic = 1

//go:wasmimport wasi_snapshot_preview1 clock_time_get
//go:noescape
func clockTimeGet(id uint32, precision uint64, result unsafe.Pointer) uint32

// monotonicNow reads the host's monotonic clock; unknown if the host cannot tell.
func monotonicNow() instant {
	var now uint64
	if errno := clockTimeGet(clockMonotonic, 1, unsafe.Pointer(&now)); errno != 0 {
		return unknown
	}
	return instant(now)
}
