package envoytest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/backend"
	"endpoint-breaker/internal/envoy"
	"endpoint-breaker/internal/plugintest"
)

// panicHeader names the callback in which panicking's plugin is to panic, once.
const panicHeader = "X-Panic"

// callbacks are those in which it can.
func callbacks() []string {
	return []string{"request_headers", "request_body", "response_headers", "response_body", "stream_done"}
}

// panicking builds the plugin with a fault in it, as it has none to offer of its own.
func panicking(t *testing.T) (wasm string) {
	t.Helper()
	edits := []plugintest.Edit{{File: "stream.go", Old: "type stream struct {\n", New: "type stream struct {\n\tfault string\n"}}
	for _, callback := range callbacks() {
		recovery := fmt.Sprintf("\tdefer s.plugin.recovered(%q)\n", callback)
		fault := fmt.Sprintf("\tif s.fault == %q {\n\t\ts.fault = \"\"\n\t\tpanic(\"spoiled\")\n\t}\n", callback)
		if callback == "request_headers" {
			fault = fmt.Sprintf("\ts.fault = s.header(proxywasm.GetHttpRequestHeader, %q)\n", panicHeader) + fault
		}
		edits = append(edits, plugintest.Edit{File: "stream.go", Old: recovery, New: recovery + fault})
	}
	return plugintest.Spoiled(t, "envoy", edits...)
}

func TestAPanicIsLoggedAndCountedAndTheRequestGoesOnUntouched(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{wasm: panicking(t), configuration: firm, workers: 1})
	blocked := w.hosts[0]
	w.spread(len(w.hosts))
	w.blockIn(clusterName, "/", blocked)
	for _, h := range w.hosts {
		serveEchoToo(h)
	}
	body := noise(100 << 10)
	posts := func(callback string) []exchange {
		post := asks{
			client: w.client, method: http.MethodPost, path: "/echo", body: whole(body), digest: backend.DigestOf(body),
			header: http.Header{panicHeader: {callback}},
		}
		return withoutHosts(w.hold(spoken{name: callback, speak: post.converse}, "posted"))
	}
	const noCallback = "nowhere"
	untouched := posts(noCallback)
	for i, callback := range callbacks() {
		w.part(callback, func() {
			got := posts(callback)
			for j := range got {
				got[j].upstream = strings.Replace(got[j].upstream, callback, noCallback, 1)
			}
			assert.Equal(w.t, untouched, got)

			w.waitForLine(fmt.Sprintf("endpoint-breaker panic callback=%s cause=\"spoiled\" stack=", callback))
			require.Eventually(w.t, func() bool { return w.panics() >= float64((i+1)*sequence) }, within, polling)
			assert.InDelta(w.t, (i+1)*sequence, w.panics(), 0, "each panic must be counted once")
		})
	}
	assert.NotContains(t, w.spread(4*len(w.hosts)), blocked.Name(), "the breaker must go on after all that")
}

// panics is how many the plugin has counted.
func (w *world) panics() float64 {
	w.t.Helper()
	panics, err := w.envoy.Metric(w.t.Context(), "wasmcustom.endpoint_breaker.metric.panics")
	assert.NoError(w.t, err)
	return panics
}

// TestAfterATrapFailOpenKeepsServingAndNobodySteers loses the plugin on the only worker: what
// remains are the filters around it. Before that, all of them are there.
func TestAfterATrapFailOpenKeepsServingAndNobodySteers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{
		wasm: panicking(t), configuration: firm, workers: 1,
		env: map[string]string{"WASM_DISABLE_PANIC_RECOVERY": "true"}, failurePolicy: wasmv3.FailurePolicy_FAIL_OPEN,
	})
	blocked := w.hosts[0]
	w.part("nobody steers while nothing is blocked", w.nobodySteers)
	w.blockIn(clusterName, "/", blocked)
	w.part("nobody steers while a host is blocked", func() {
		require.NotContains(w.t, w.spread(4*len(w.hosts)), blocked.Name())
		w.nobodySteers()
	})

	// Envoy gives up the request that trapped, whatever the policy.
	require.Equal(t, http.StatusServiceUnavailable, w.send(http.MethodGet, "/v1/models", nil, panicHeader, "request_headers").status)

	w.part("the stack is in the log as Go writes it", func() {
		line := w.waitForLine("panic: spoiled")
		assert.Contains(w.t, line.Message, "\ngoroutine 1 [running]:\nmain.(*stream).OnHttpRequestHeaders(")
		assert.Zero(w.t, w.panics(), "nobody was left to count")
	})
	w.part("every request passes, as without a plugin", func() {
		each := 4
		assert.Equal(w.t, map[string]int{"A": each, "B": each, "C": each}, w.spread(each*len(w.hosts)))
	})
	w.part("nobody steers when the plugin is gone", w.nobodySteers)
}

func TestAfterATrapFailReloadBringsThePluginBackAndTheBlockHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{
		wasm: panicking(t), configuration: firm, workers: 1,
		env: map[string]string{"WASM_DISABLE_PANIC_RECOVERY": "true"},
	})
	blocked := w.hosts[0]
	w.spread(len(w.hosts))
	w.blockIn(clusterName, "/", blocked)
	require.Equal(t, http.StatusServiceUnavailable, w.send(http.MethodGet, "/v1/models", nil, panicHeader, "request_headers").status)
	assert.NotContains(t, w.spread(4*len(w.hosts)), blocked.Name(), "the new VM reads what the old one has shared")
}

// nobodySteers sends requests with the header that names a host, to hosts that send it back:
// they spread over the hosts as requests without, and it gets to neither end.
func (w *world) nobodySteers() {
	w.t.Helper()
	for _, h := range w.hosts {
		h.Serve(backend.WithHeader(envoy.HostHeader, encoded(w.hosts[1].Address()), backend.Usual()))
	}
	n := 4 * len(w.hosts)
	without := w.spread(n)
	for name, values := range map[string][]string{
		"the host that is or will be blocked": {encoded(w.hosts[0].Address())},
		"another host":                        {encoded(w.hosts[1].Address())},
		"two hosts":                           {encoded(w.hosts[1].Address()), encoded(w.hosts[2].Address())},
		"a host in plain text":                {w.hosts[1].Address()},
		"nobody's address":                    {encoded("192.0.2.1:80")},
		"no address":                          {encoded("nonsense")},
		"no base64":                           {"%%%"},
		"nothing":                             {""},
		"very much":                           {encoded(string(noise(8 << 10)))},
	} {
		arrived := w.arrivals()
		served := map[string]int{}
		for range n {
			served[w.ask(values)]++
		}
		assert.Equal(w.t, without, served, "%s: the spread must be as without the header", name)
		assert.Equal(w.t, arrived+n, w.arrivals(), name)
	}
	for _, h := range w.hosts {
		for _, r := range h.Requests() {
			require.Empty(w.t, r.Header.Values(envoy.HostHeader), "the host must not get the header")
		}
	}
}

// ask sends one request with these values of the header and returns who served it.
func (w *world) ask(values []string) (host string) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.envoy.URL()+"/v1/models", nil)
	require.NoError(w.t, err)
	request.Header[http.CanonicalHeaderKey(envoy.HostHeader)] = values
	response, err := w.client.Do(request)
	require.NoError(w.t, err)
	require.NoError(w.t, response.Body.Close())
	require.Equal(w.t, http.StatusOK, response.StatusCode)
	require.Empty(w.t, response.Header.Values(envoy.HostHeader), "the client must not get the header")
	return response.Header.Get(backend.ServedByHeader)
}

// arrivals is how many requests have reached the hosts.
func (w *world) arrivals() int {
	arrived := 0
	for _, h := range w.hosts {
		arrived += h.Count()
	}
	return arrived
}

func encoded(address string) string { return base64.StdEncoding.EncodeToString([]byte(address)) }
