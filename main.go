// Command endpoint-breaker is a Proxy-Wasm plugin that finds slow endpoints of a cluster and
// keeps requests away from them for a while. It is a WASI reactor: the host calls exported
// callbacks, main never runs.
//
// A request meets the breaker at five moments (callbacks.go):
//
//	onRequest   its rule is known: if something is blocked, a host is chosen (filter.go)
//	onComplete  the whole request is there: its clock starts                 (inflight.go)
//	onResponse  the headers, or the first chunk, are there: were they late?  (inflight.go)
//	onTick      it has waited for its threshold and nothing is there yet
//	onDone      its stream has ended
//
// A late request is a sample. Its endpoint is asked for (attributes.go), samples become a
// verdict (breaker.go, dedup.go), and a block is written for all workers (blocklist.go,
// shareddata_cas.go). What a rule says is in config.go; how the host's callbacks get here is
// in plugin.go and stream.go; what differs between gateways is in upstream_*.go.
package main

import (
	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm"
	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm/types"
	"github.com/higress-group/wasm-go/pkg/log"
	"github.com/higress-group/wasm-go/pkg/wrapper"
)

const (
	pluginName = "endpoint-breaker"
	version    = "0.1.0"
)

func main() {}

func init() { proxywasm.SetVMContext(newVM()) }

// newVM wires the breaker into wasm-go. The wrapper matches rules and writes logs; all else is
// done by the contexts around its own, which see what it hides: ids, ticks and body sizes.
func newVM() *vm {
	v := &vm{meters: newMeters(), logs: newLogs(log.Warn, log.Info), rawPanics: panicRecoveryDisabled(), ttlLimits: ttlLimits{}}
	v.VMContext = wrapper.NewCommonVmCtx(pluginName,
		wrapper.ParseOverrideRawConfig(v.handOutGlobal, v.handOutRule),
		wrapper.ProcessRequestHeaders(func(_ wrapper.HttpContext, c matchedConfig) types.Action {
			v.current.request.rule = c.rule
			return types.ActionContinue
		}))
	return v
}
