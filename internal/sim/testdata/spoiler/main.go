// Spoiler is a plugin that keeps requests from their endpoints, in the way that
// its configuration names: reply or hold. It logs what a stream knows at its end.
package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm"
	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm/types"
)

func main() {}

func init() { proxywasm.SetVMContext(&vm{}) }

type vm struct{ types.DefaultVMContext }

func (*vm) NewPluginContext(uint32) types.PluginContext { return &plugin{} }

type plugin struct {
	types.DefaultPluginContext
	way string
}

func (p *plugin) OnPluginStart(int) types.OnPluginStartStatus {
	configuration, err := proxywasm.GetPluginConfiguration()
	p.way = string(configuration)
	proxywasm.LogInfo(fmt.Sprintf("random %d", rand.Uint64()))
	return types.OnPluginStartStatus(err == nil)
}

func (p *plugin) NewHttpContext(uint32) types.HttpContext { return &stream{way: p.way} }

type stream struct {
	types.DefaultHttpContext
	way string
}

func (s *stream) OnHttpRequestHeaders(int, bool) types.Action {
	switch s.way {
	case `"reply"`:
		_ = proxywasm.SendHttpResponse(429, nil, nil, -1)
		return types.ActionPause
	case `"hold"`:
		return types.HeaderStopIteration
	default:
		return types.ActionContinue
	}
}

func (s *stream) OnHttpStreamDone() {
	details, _ := proxywasm.GetProperty([]string{"response", "code_details"})
	address, _ := proxywasm.GetProperty([]string{"upstream", "address"})
	proxywasm.LogInfo(fmt.Sprintf("done details=%s address=%s wall=%s", details, address, time.Now().UTC().Format(time.DateTime)))
}
