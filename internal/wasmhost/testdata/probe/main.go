// Probe is the plugin that the tests of wasmhost drive. Each callback runs the
// script that a request header, the configuration or shared data holds, and
// logs what every command came to.
package main

import (
	"os"
	"strings"

	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm"
	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm/types"
)

func main() {}

func init() {
	answered = runAnswer
	proxywasm.SetVMContext(&vm{})
	run(os.Getenv("INIT"))
}

type vm struct{ types.DefaultVMContext }

func (*vm) NewPluginContext(id uint32) types.PluginContext { return &plugin{id: id} }

// plugin runs the configuration as a script; the command "refuse" refuses it,
// "keep" makes proxy_on_done say "not yet". At each tick it runs what shared
// data holds under "tick".
type plugin struct {
	types.DefaultPluginContext
	id   uint32
	keep bool
}

func (p *plugin) OnPluginStart(int) types.OnPluginStartStatus {
	configuration, _ := proxywasm.GetPluginConfiguration() // the SDK calls an empty one not found
	ran := run(string(configuration))
	p.keep = ran.keep
	return types.OnPluginStartStatus(!ran.refuse)
}

func (p *plugin) OnTick() {
	script, _, err := proxywasm.GetSharedData("tick")
	if err != nil {
		return
	}
	logf("tick of context %d", p.id)
	run(string(script))
}

func (p *plugin) OnPluginDone() bool {
	logf("done of context %d", p.id)
	return !p.keep
}

func (p *plugin) NewHttpContext(id uint32) types.HttpContext {
	return &stream{id: id, root: p.id, scripts: map[string]string{}}
}

// stream keeps the scripts of its request headers for the later callbacks:
// do-request-headers, do-request-body, … do-done. One that never sees them runs
// what shared data holds under "unseen" when it is done.
type stream struct {
	types.DefaultHttpContext
	id, root uint32
	seen     bool
	scripts  map[string]string
}

func (s *stream) OnHttpRequestHeaders(size int, end bool) types.Action {
	s.seen = true
	headers, _ := proxywasm.GetHttpRequestHeaders()
	for _, header := range headers {
		if strings.HasPrefix(header[0], "do-") {
			s.scripts[header[0]] = header[1]
		}
	}
	return s.play("do-request-headers", "request headers", size, end)
}

func (s *stream) OnHttpRequestBody(size int, end bool) types.Action {
	return s.play("do-request-body", "request body", size, end)
}

func (s *stream) OnHttpRequestTrailers(size int) types.Action {
	return s.play("do-request-trailers", "request trailers", size, true)
}

func (s *stream) OnHttpResponseHeaders(size int, end bool) types.Action {
	return s.play("do-response-headers", "response headers", size, end)
}

func (s *stream) OnHttpResponseBody(size int, end bool) types.Action {
	return s.play("do-response-body", "response body", size, end)
}

func (s *stream) OnHttpResponseTrailers(size int) types.Action {
	return s.play("do-response-trailers", "response trailers", size, true)
}

func (s *stream) OnHttpStreamDone() {
	logf("stream done under context %d", s.root)
	if s.seen {
		run(s.scripts["do-done"])
		return
	}
	script, _, err := proxywasm.GetSharedData("unseen")
	if err != nil {
		return
	}
	run(string(script))
}

// play runs a script. A script with several parts joined by "|" runs one part
// per callback, and the last part from then on.
func (s *stream) play(key, callback string, size int, end bool) types.Action {
	logf("%s size=%d end=%t", callback, size, end)
	now, later, more := strings.Cut(s.scripts[key], "|")
	if more {
		s.scripts[key] = later
	}
	return run(now).action
}
