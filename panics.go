package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm/types"
)

// panicRecoveryDisabled reads the switch that the wrapper reads, too: with it a panic traps
// the VM and its raw stack is seen.
func panicRecoveryDisabled() bool { return os.Getenv("WASM_DISABLE_PANIC_RECOVERY") == "true" }

// recovered is deferred by every callback of ours: whatever fails in the breaker, the request
// goes on untouched. action is what the callback returns; nil if it returns none.
func (p *plugin) recovered(callback string, action *types.Action) {
	if p.vm.rawPanics {
		return
	}
	cause := recover()
	if cause == nil {
		return
	}
	if action != nil {
		*action = types.ActionContinue
	}
	p.meters.gateway(metricPanics, 1)
	p.logs.limited(logPanic, callback, monotonicNow(), "callback=%s cause=%q stack=%q", callback, fmt.Sprint(cause), debug.Stack())
}
