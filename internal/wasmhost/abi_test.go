package wasmhost

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero/api"
)

// Every host function of the table, called by a guest in a request headers
// callback.
func TestHostFunctionsAnswerAsTheGatewayDoes(t *testing.T) {
	tests := map[string]struct {
		script string
		want   []string
	}{
		"header":                  {"header request :path; header request CONTENT-TYPE", []string{"/v1/chat?a=b", "application/json"}},
		"a header that is absent": {"header request absent", []string{"status 1"}},
		"a map that is not open":  {"header response :status; header-add response a b; header-remove request-trailers a", []string{"status 2", "status 2", "status 2"}},
		"a map of outside calls":  {"header call a; http-response", []string{"status 2", "error: not found"}},
		"a map that is not there": {"header none a; header-add none a b", []string{"status 2", "status 2"}},
		"add, replace and remove": {
			"header-add request X-A 1; header-add request x-a 2; header request x-a; header-replace request x-a 3; header request x-a; header-remove request x-a; header request x-a",
			[]string{"ok", "ok", "1", "ok", "3", "ok", "status 1"},
		},
		"an empty value":        {"header-replace request a; header request a", []string{"ok", ""}},
		"headers as a whole":    {"headers-set 1; headers request", []string{"ok", "only=1"}},
		"headers not open":      {"headers response", []string{"error: not found"}},
		"size of headers":       {"headers-set 12345; headers-size request; headers-size response", []string{"ok", "9", "status 2"}},
		"body outside of it":    {"body request 0 10; body-size request; body-append request x", []string{"error: not found", "0", "error: bad argument"}},
		"a body not there":      {"body-size none; body-set none 0 0", []string{"status 2", "status 2"}},
		"configuration later":   {"configuration", []string{"error: not found"}},
		"VM configuration":      {"vm-configuration", []string{"error: not found"}},
		"shared data":           {"shared-get k; shared-set k v 0; shared-get k; shared-set k w 9; shared-set k w 1; shared-get k", []string{"error: not found", "ok", "v cas=1", "error: cas mismatch", "ok", "w cas=2"}},
		"an empty shared value": {"shared-set k; shared-get k", []string{"ok", " cas=1"}},
		"counter": {
			"metric-define counter c; metric-increment c 2; metric-record c 3; metric-get c; metric-increment c -1; metric-increment c 0",
			[]string{"id 0", "ok", "ok", "5", "status 2", "status 2"},
		},
		"gauge": {
			"metric-define gauge g; metric-increment g 5; metric-increment g -2; metric-get g; metric-record g 9; metric-get g",
			[]string{"id 1", "ok", "ok", "3", "ok", "9"},
		},
		"histogram":              {"metric-define histogram h; metric-record h 7; metric-increment h 1; metric-get h", []string{"id 2", "ok", "status 2", "status 2"}},
		"one metric by one name": {"metric-define counter c; metric-define counter d; metric-define counter c", []string{"id 0", "id 4", "id 0"}},
		"metrics not there":      {"metric-define none n; metric-increment absent 1; metric-record absent 1; metric-get absent", []string{"status 2", "status 1", "status 1", "status 1"}},
		"property of a plugin":   {"property-set my.key 1; property my.key; property-set x 2; property x", []string{"ok", "error: not found", "ok", `"2"`}},
		"override":               {"override 10.9.9.9:1", []string{"ok"}},
		"hosts of no cluster":    {"hosts", []string{"error: not found"}},
		"effective context":      {"effective 1; effective 2; effective 0; effective 77", []string{"ok", "ok", "ok", "error: bad argument"}},
		"finish nothing":         {"finish", []string{"ok"}},
		"log level":              {"foreign get_log_level; log-level; foreign other", []string{"02000000", "2", "error: not found"}},
		"log":                    {"log 2 text; log 6 text", []string{"ok", "status 2"}},
		"time":                   {"time", []string{"1767323045000000000"}},
		"ticks":                  {"ticks 100", []string{"ok"}},
		"continue a connection":  {"continue-raw 2; continue-raw 3; continue-raw 4; close 2; close 3; close 4", []string{"ok", "status 12", "status 2", "ok", "ok", "status 2"}},
		"HTTP call":              {"http elsewhere; http-body; http-trailers", []string{"error: bad argument", "error: not found", "error: not found"}},
		"Redis":                  {"redis-init elsewhere; redis-call elsewhere PING", []string{"error: bad argument", "error: bad argument"}},
		"gRPC":                   {"grpc elsewhere", []string{"call status 4, stream status 4, send status 1, close status 1, cancel status 1, get-status ok 0"}},
		"queues":                 {"queue-register; queue-resolve; queue-put; queue-take", []string{"error: unimplemented", "error: unimplemented", "error: unimplemented", "error: unimplemented"}},
		"a pointer gone wild":    {"nil-read", []string{"status 6"}},
		"environment":            {"env MODE; env ABSENT", []string{"test", ""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := startProbe(t, func(o *Options) { o.Env = map[string]string{"MODE": "test"} })
			assert.Equal(t, test.want, p.run(test.script))
		})
	}
}

func TestTheProbeCallsEveryHostFunction(t *testing.T) {
	var untested []string
	imported := probeModule.compiled.ImportedFunctions()
	for _, function := range hostFunctions() {
		if !slices.ContainsFunc(imported, func(d api.FunctionDefinition) bool { _, name, _ := d.Import(); return name == function.name }) {
			untested = append(untested, function.name)
		}
	}
	assert.Empty(t, untested)
}

func TestAConfigurationIsReadableWhileThePluginIsConfigured(t *testing.T) {
	p := startProbe(t, func(o *Options) { o.Configuration = "configuration" })
	assert.Equal(t, []string{"configuration", "configuration"}, p.results(), "base VM and worker")
}

func TestHostsComeWithTheirHealthAndMetrics(t *testing.T) {
	p := startProbe(t)
	asked := 0
	s, err := p.Worker(0).NewStream(Route{Hosts: func() []Host {
		asked++
		return []Host{
			{Address: "10.0.0.1:80", Health: "Healthy"},
			{Address: "[2001:db8::7]:80", Health: "Unhealthy", Metrics: `a{b="c"} 1`},
			{Address: "10.0.0.3:80"},
		}
	}})
	require.NoError(t, err)
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-headers", "hosts; hosts"), true))
	assert.Equal(t, strings.Join([]string{
		`10.0.0.1:80={"health_status":"Healthy","metrics":""}`,
		`[2001:db8::7]:80={"health_status":"Unhealthy","metrics":"a{b=\"c\"} 1"}`,
		`10.0.0.3:80={"metrics":""}`,
	}, " "), p.results()[0])
	assert.Equal(t, 2, asked)
}

func TestWhatThePluginMadeOfTheRequestsHeadersIsVisibleOutside(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-headers", "headers-set here"), true))
	assert.Equal(t, Headers{{"only", "here"}}, s.RequestHeadersNow())
}

func TestAPluginContextHasNoStream(t *testing.T) {
	p := startProbe(t, func(o *Options) {
		o.Configuration = "hosts; override a; property-set a b; header request a; body request 0 1; continue request; close 0; reply 500 x; inject x; property plugin_name; property route_name"
	})
	assert.Equal(t, []string{
		"error: bad argument", "ok", "error: not found", "status 2", "error: not found", "ok", "ok", "ok", "ok",
		`"probe"`, "error: not found",
	}, p.results()[:11])
}

func TestRequestHeadersAreOpenUntilTheirCallbackContinues(t *testing.T) {
	for verdict, want := range map[string]string{"0": "status 2", "1": "/v1/chat?a=b"} {
		t.Run("return "+verdict, func(t *testing.T) {
			p := startProbe(t)
			s := p.open()
			_, err := s.RequestHeaders(request(
				"do-request-headers", "return "+verdict,
				"do-request-body", "header request :path", "do-response-headers", "header request :path",
				"do-done", "header request :path; header response :status; header response-trailers a; header request-trailers a; header-add request a b"), false)
			require.NoError(t, err)
			flowOf(t, FlowContinue)(s.RequestData([]byte("x"), true))
			flowOf(t, FlowContinue)(s.ResponseHeaders(response(), true))
			assert.Equal(t, []string{want, want}, p.results())
			require.NoError(t, s.Close())
			done := p.results()
			assert.Equal(t, []string{"/v1/chat?a=b", "200", "status 1", "status 1"}, done[:4], "the access log sees them")
		})
	}
}

func TestContinueClosesTheRequestsHeaders(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowStopped)(s.RequestHeaders(request(
		"do-request-headers", "return 1", "do-request-body", "continue request; header request :path"), false))
	flowOf(t, FlowContinue)(s.RequestData([]byte("x"), true))
	assert.Equal(t, []string{"ok", "status 2"}, p.results())
}

func TestChangingARequestHeaderClearsTheRouteUnlessSwitchedOff(t *testing.T) {
	for script, want := range map[string]bool{
		"say nothing":            false,
		"header-add request a b": true,
		"headers-set 1":          true,
		"property-set clear_route_cache off; header-replace request a b":                                          false,
		"property-set clear_route_cache off; property-set clear_route_cache on; header-remove request :authority": true,
	} {
		t.Run(script, func(t *testing.T) {
			p := startProbe(t)
			s := p.open()
			defer closeStreamOf(t, s)
			flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-headers", script), true))
			assert.Equal(t, want, s.RouteCacheCleared())
		})
	}
}
