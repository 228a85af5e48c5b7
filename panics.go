package main

import (
	"fmt"
	"os"
	"runtime/debug"
)

// panicRecoveryDisabled reads the switch that the wrapper reads, too: with it a panic traps
// the VM and its raw stack is seen.
func panicRecoveryDisabled() bool { return os.Getenv("WASM_DISABLE_PANIC_RECOVERY") == "true" }

// recovered is deferred by every callback of ours: whatever fails in the breaker, the callback
// returns its zero value, and the request goes on.
func (p *plugin) recovered(callback string) {
	if p.vm.rawPanics {
		return
	}
	cause := recover()
	if cause == nil {
		return
	}
	p.meters.gateway(metricPanics, 1)
	p.logs.limited(logPanic, callback, monotonicNow(), "callback=%s cause=%q stack=%q", callback, fmt.Sprint(cause), debug.Stack())
}
