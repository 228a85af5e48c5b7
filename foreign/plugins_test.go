package foreign

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"endpoint-breaker/internal/wasmhost"
)

// plugin is one binary of the package with a configuration that makes sense for it.
type plugin struct {
	filter
	effect string // what check looks for, as the table says it
	check  func(t *testing.T, g *gateway)
}

// unreachable are the clusters that the configurations name: known, and nobody is there.
func unreachable() clusters {
	return clusters{authCluster: {}, decisionCluster: {}, redisCluster: {}, usageCluster: {}}
}

const (
	authCluster     = "outbound|80||auth.static"
	decisionCluster = "outbound|80||jev.static"
	redisCluster    = "outbound|6379||redis.static"
	usageCluster    = "outbound|80||usage.static"
	otherCluster    = "outbound|80||model-2-13.static"
)

// plugins is every binary of the package, by name.
func plugins() []plugin {
	return []plugin{
		{filter{"ai-data-masking", maskingConfig}, "request masked, answer restored, forbidden words denied", checkMasking},
		{filter{"ai-statistics", `{}`}, "tokens counted, ai_log written", checkStatistics},
		{filter{"gpustack-ai-proxy", aiProxyConfig}, "host, token and model rewritten", checkAIProxy},
		{filter{"gpustack-ext-auth", extAuthConfig}, "403 without the authority, consumer set with it", checkExtAuth},
		{filter{"gpustack-generic-proxy-router", routerConfig}, "model of path or body in a header", checkRouter},
		{filter{"gpustack-ip-acl", ipACLConfig}, "denied network gets 403", checkIPACL},
		{filter{"gpustack-lb", lbContextConfig}, "candidates published", checkLB},
		{filter{"gpustack-lb-decision-service", decisionConfig}, "verdict ranks the candidates", checkDecision},
		{filter{"gpustack-lb-least-load", `{"enabled":true}`}, "ranks the candidates", checkLeastLoad},
		{filter{"gpustack-lb-session-affinity", affinityConfig}, "one session, one candidate", checkAffinity},
		{filter{"gpustack-rate-limit", rateLimitConfig}, "lets pass while Redis is unreachable", checkRateLimitOpen},
		{filter{"gpustack-set-header-pre-route", preRouteConfig}, "route name in a header", checkPreRoute},
		{filter{"gpustack-token-usage", tokenUsageConfig}, "usage injected and reported", checkTokenUsage},
		{filter{"transformer", transformerConfig}, "headers added both ways", checkTransformer},
	}
}

const (
	maskingConfig = `{"deny_openai":true,"deny_words":["forbidden"],"deny_code":403,"deny_message":"not that",
		"replace_roles":[{"regex":"%{EMAILLOCALPART}@%{HOSTNAME:domain}","type":"replace","restore":true,"value":"****@$domain"}]}`
	aiProxyConfig = `{"provider":{"type":"openai","apiTokens":["sk-1"],"modelMapping":{"*":"qwen2.5-7b"}}}`
	extAuthConfig = `{"route_match_regexes":["^ai-route-route-"],"authz":{"timeout":1000,
		"endpoint":{"path":"/token-auth","request_method":"GET","service_name":"auth.static","service_port":80}}}`
	routerConfig = `{"prefix":"/model/proxy/","targetHeader":"x-higress-llm-model","modelKey":"model",
		"aliasNameMapping":{"qwen-alias":"qwen2.5-7b-instruct"}}`
	ipACLConfig     = `{"realIPHeader":"x-forwarded-for","consumers":{"*":{"deniedCidrs":["198.51.100.0/24"]}}}`
	lbContextConfig = `{"mode":"context","_rules_":[{"_match_route_":["` + route + `"],"mode":"context",
		"candidates":[{"cluster":"` + cluster + `","targetId":"2","kind":"instance"},{"cluster":"` + otherCluster + `","targetId":"3","kind":"instance"}],
		"modelMappers":{"2":{"*":"qwen2.5-7b"},"3":{"*":"qwen2.5-72b"}}}]}`
	lbFinisherConfig = `{"mode":"finisher"}`
	decisionConfig   = `{"providers":[{"id":"default","type":"systemone","endpoint":"http://jev.static:80","cluster":"` + decisionCluster + `","apiTokens":["k"]}],
		"activeProviderId":"default","modelSelection":{"criteria":{"qwen2.5-7b":"small","qwen2.5-72b":"strong"}}}`
	affinityConfig  = `{"sessionKeys":[{"header":"session_id"},{"bodyKey":"prompt_cache_key"}]}`
	rateLimitConfig = `{"rule_name":"rule","rejected_code":429,"show_limit_quota_header":true,
		"limit_combinations":[{"name":"user","match":[{"source":"header","name":"x-user","value":"*"}],"query_limits":{"per_minute":3}}],
		"redis":{"service_name":"redis.static","service_port":6379,"database":2,"timeout":1000}}`
	preRouteConfig   = `{"routeNameHeader":"x-route","enableOnPathSuffix":["/completions"]}`
	tokenUsageConfig = `{"realIPHeader":"x-gpustack-real-ip","header_add":{"x-token":"s"},
		"endpoint":{"service_name":"usage.static","service_port":80,"path":"/usage"}}`
	transformerConfig = `{"reqRules":[{"operate":"add","headers":[{"key":"x-added","value":"yes"}]}],
		"respRules":[{"operate":"add","headers":[{"key":"x-answered","value":"yes"}]}]}`
)

// Every plugin alone takes a request of each kind, with its own calls finding nobody; then its known
// effect is looked for. The table comes with -v: make foreign shows it.
func TestEveryForeignPluginRunsAndDoesWhatItIsFor(t *testing.T) {
	var table strings.Builder
	for _, p := range plugins() {
		result := "FAILED"
		t.Run(p.name, func(t *testing.T) {
			defer func() { result = resultOf(t) }()
			g := start(t, unreachable(), p.filter)
			passRequests(t, g, p.name)
			g.requireNoTrap()
			p.check(t, g)
			g.requireNoTrap()
		})
		fmt.Fprintf(&table, "\n%-30s  %-7s  %s", p.name, result, p.effect)
	}
	t.Log(table.String())
}

func resultOf(t *testing.T) string {
	t.Helper()
	switch {
	case t.Failed():
		return "FAILED"
	case t.Skipped():
		return "skipped"
	default:
		return "ok"
	}
}

// passRequests sends one request of each kind. Without its authority ext-auth lets nobody pass; all
// others let all pass.
func passRequests(t *testing.T, g *gateway, name string) {
	t.Helper()
	want := "200"
	if name == "gpustack-ext-auth" {
		want = "403"
	}
	assert.Equal(t, want, g.send(get(), list()).status, "GET")
	assert.Equal(t, want, g.send(chat(question), completion()).status, "POST")
	assert.Equal(t, want, g.send(chat(streamQuestion), events()).status, "stream")
}

func TestTheTableHasEveryBinaryOfThePackage(t *testing.T) {
	entries, err := os.ReadDir(filepath.Dir(filepath.Dir(pathOf("any"))))
	if err != nil {
		missing(t, "the package")
	}
	var shipped, tested []string
	for _, entry := range entries {
		shipped = append(shipped, entry.Name())
	}
	for _, p := range plugins() {
		tested = append(tested, p.name)
	}
	slices.Sort(tested)
	assert.Equal(t, shipped, tested)
	assert.Len(t, tested, 14)
}

func header(headers wasmhost.Headers, name string) string {
	value, _ := headers.Get(name)
	return value
}

// restart is a gateway with the same plugin that finds more than nobody.
func restart(t *testing.T, known clusters, filters ...filter) *gateway {
	t.Helper()
	all := unreachable()
	for name, found := range known {
		all[name] = found
	}
	return start(t, all, filters...)
}

func checkMasking(t *testing.T, g *gateway) {
	t.Helper()
	answer := completion()
	answer.chunks = []string{`{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"wrote to ****@example.com"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}`}
	got := g.send(chat(question), answer)
	assert.Equal(t, "my mail is ****@example.com", gjson.Get(got.requestBody, "messages.0.content").String())
	assert.Equal(t, "wrote to ann@example.com", gjson.Get(got.responseBody, "choices.0.message.content").String())
	got = g.send(chat(strings.ReplaceAll(question, "my mail", "forbidden")), completion())
	assert.Equal(t, "403", got.status)
	assert.Contains(t, got.responseBody, "not that")
	assert.False(t, got.Released())
}

func checkStatistics(t *testing.T, g *gateway) {
	t.Helper()
	before := g.metric(0, "metric.input_token")
	got := g.send(chat(streamQuestion), events())
	name := "route." + route + ".upstream." + cluster + ".model.qwen2.5-7b.consumer.none.metric."
	assert.EqualValues(t, 5, g.metric(0, name+"input_token")-before)
	assert.EqualValues(t, 21, g.plugins[0].Metric(name+"output_token"), "three answers of seven")
	assert.EqualValues(t, 2, g.plugins[0].Metric(name+"llm_stream_duration_count"))
	log, found := got.Property("ai_log")
	require.True(t, found)
	assert.Contains(t, string(log), `\"total_token\":12`)
}

func checkAIProxy(t *testing.T, g *gateway) {
	t.Helper()
	got := g.send(chat(question), completion())
	sent := got.RequestHeadersNow()
	assert.Equal(t, "api.openai.com", header(sent, ":authority"))
	assert.Equal(t, "llm.example", header(sent, "x-envoy-original-host"))
	assert.Equal(t, "Bearer sk-1", header(sent, "authorization"))
	assert.Equal(t, "qwen2.5-7b", gjson.Get(got.requestBody, "model").String())
	assert.False(t, got.Filter(0).RouteCacheCleared(), "it switches rerouting off")
}

func checkExtAuth(t *testing.T, g *gateway) {
	t.Helper()
	assert.False(t, g.send(get(), list()).Released())
	var asked []wasmhost.HTTPCall
	verdict := "200"
	g = restart(t, clusters{authCluster: {HTTP: func(call wasmhost.HTTPCall) (wasmhost.HTTPAnswer, error) {
		asked = append(asked, call)
		return wasmhost.HTTPAnswer{Headers: wasmhost.Headers{{":status", verdict}, {"x-mse-consumer", "gpustack-7"}}}, nil
	}}}, filter{"gpustack-ext-auth", extAuthConfig})
	got := g.send(chat(question, [2]string{"authorization", "Bearer key"}, [2]string{"x-mse-consumer", "forged"}), completion())
	assert.Equal(t, "200", got.status)
	assert.Equal(t, "gpustack-7", header(got.RequestHeadersNow(), "x-mse-consumer"))
	require.Len(t, asked, 1)
	assert.Equal(t, "/token-auth", header(asked[0].Headers, ":path"))
	assert.Equal(t, "Bearer key", header(asked[0].Headers, "authorization"))
	verdict = "401"
	assert.Equal(t, "401", g.send(get(), list()).status)
}

func checkRouter(t *testing.T, g *gateway) {
	t.Helper()
	in := chat(question)
	in.headers[3][1] = "/model/proxy/qwen-alias/v1/chat/completions"
	got := g.send(in, completion())
	assert.Equal(t, "qwen2.5-7b-instruct", header(got.RequestHeadersNow(), "x-higress-llm-model"))
	assert.Equal(t, "qwen-alias", gjson.Get(got.requestBody, "model").String(), "a path speaks for the headers only")
	got = g.send(chat(question), completion())
	assert.Equal(t, "qwen-alias", header(got.RequestHeadersNow(), "x-higress-llm-model"), "without one the body speaks")
}

func checkIPACL(t *testing.T, g *gateway) {
	t.Helper()
	consumer := [2]string{"x-mse-consumer", "ann"}
	assert.Equal(t, "403", g.send(get(consumer, [2]string{"x-forwarded-for", "198.51.100.9"}), list()).status)
	assert.Equal(t, "200", g.send(get(consumer, [2]string{"x-forwarded-for", "192.0.2.9"}), list()).status)
}

func checkPreRoute(t *testing.T, g *gateway) {
	t.Helper()
	got := g.send(chat(question), completion())
	assert.Equal(t, route, header(got.RequestHeadersNow(), "x-route"))
	assert.Empty(t, header(g.send(get(), list()).RequestHeadersNow(), "x-route"), "another path")
}

func checkTokenUsage(t *testing.T, _ *gateway) {
	t.Helper()
	var reports []string
	g := restart(t, clusters{usageCluster: {HTTP: func(call wasmhost.HTTPCall) (wasmhost.HTTPAnswer, error) {
		reports = append(reports, string(call.Body))
		return wasmhost.HTTPAnswer{Headers: wasmhost.Headers{{":status", "200"}}}, nil
	}}}, filter{"gpustack-token-usage", tokenUsageConfig})
	got := g.send(chat(streamQuestion), events())
	assert.Equal(t, "s", header(got.RequestHeadersNow(), "x-token"))
	assert.True(t, gjson.Get(got.requestBody, "stream_options.include_usage").Bool())
	assert.Contains(t, got.responseBody, `"time_to_first_token_ms":110`, "100 ms to the headers, 10 to the first chunk")
	require.Len(t, reports, 1)
	assert.EqualValues(t, 12, gjson.Get(reports[0], "total_token").Int())
	assert.True(t, gjson.Get(reports[0], "completed").Bool())
	assert.EqualValues(t, 2, gjson.Get(reports[0], "model_id").Int(), "from the cluster's name")
}

func checkTransformer(t *testing.T, g *gateway) {
	t.Helper()
	got := g.send(chat(question), completion())
	assert.Equal(t, "yes", header(got.RequestHeadersNow(), "x-added"))
	assert.Equal(t, "yes", header(got.ResponseHeadersNow(), "x-answered"))
	assert.True(t, got.Filter(0).RouteCacheCleared(), "it reroutes by default")
}

func checkRateLimitOpen(t *testing.T, g *gateway) {
	t.Helper()
	for range 5 {
		assert.Equal(t, "200", g.send(chat(question, [2]string{"x-user", "ann"}), completion()).status)
	}
	assert.True(t, g.logged("cannot connect to the redis cluster"))
}
