package envoytest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/backend"
	"endpoint-breaker/internal/envoy"
)

// ruled is a configuration whose rules are told apart by their thresholds and TTLs. The global
// part has a threshold that nothing here reaches; the rules inherit what they don't name.
const ruled = `{"slow_threshold":"1h","dedup_window":"0s","confirm_count":1,"block_ttl":"10m","check_interval":"100ms","_rules_":[
	{"_match_route_":["chat","talk"],"slow_threshold":"300ms","block_ttl":"1m"},
	{"_match_domain_":["llm.example.com"],"slow_threshold":"400ms","block_ttl":"2m"},
	{"_match_domain_":["*.suffix.test"],"slow_threshold":"500ms","block_ttl":"3m"},
	{"_match_domain_":["prefix.*"],"slow_threshold":"600ms","block_ttl":"4m"},
	{"_match_service_":["port.dns:8000"],"slow_threshold":"700ms","block_ttl":"5m"},
	{"_match_service_":["any.dns"],"slow_threshold":"800ms","block_ttl":"6m"},
	{"_match_route_":["pair"],"_match_service_":["pair.dns:8000"],"slow_threshold":"900ms","block_ttl":"7m"},
	{"_match_route_prefix_":["batch-"],"slow_threshold":"2s","block_ttl":"8m"},
	{"_match_route_":["inherits"],"slow_threshold":"1s"}
]}`

// matching is a request to a cluster of its own.
type matching struct {
	name      string
	route     string // its name
	domain    string
	cluster   string
	threshold time.Duration // of the rule that applies; 0 = the global one
	ttl       time.Duration
}

func matchings() []matching {
	return []matching{
		{"no rule", "none", "x.test", "outbound|8000||none.dns", 0, 0},
		{"a service on another port", "none", "x.test", "outbound|9000||port.dns", 0, 0},
		{"a service whose name only begins alike", "none", "x.test", "outbound|8000||any.dns.test", 0, 0},
		{"the route of a rule for a route and a service", "pair", "x.test", "outbound|8000||lone.dns", 0, 0},
		{"the service of a rule for a route and a service", "none", "x.test", "outbound|9001||pair.dns", 0, 0},
		{"a route whose name only begins alike", "chatter", "x.test", "outbound|8000||chatter.dns", 0, 0},
		{"a part of a domain", "none", "llm.example.com.test", "outbound|8000||domain.dns", 0, 0},
		{"a route", "chat", "x.test", "outbound|8000||chat.dns", 300 * time.Millisecond, time.Minute},
		{"another route of the same rule", "talk", "x.test", "outbound|8000||talk.dns", 300 * time.Millisecond, time.Minute},
		{"a domain", "none", "llm.example.com", "outbound|8001||domain.dns", 400 * time.Millisecond, 2 * time.Minute},
		{"a domain with a port", "none", "llm.example.com:8443", "outbound|8002||domain.dns", 400 * time.Millisecond, 2 * time.Minute},
		{"a domain's end", "none", "a.suffix.test", "outbound|8003||domain.dns", 500 * time.Millisecond, 3 * time.Minute},
		{"a domain's beginning", "none", "prefix.test", "outbound|8004||domain.dns", 600 * time.Millisecond, 4 * time.Minute},
		{"a service with its port", "none", "x.test", "outbound|8000||port.dns", 700 * time.Millisecond, 5 * time.Minute},
		{"a service on any port", "none", "x.test", "outbound|8000||any.dns", 800 * time.Millisecond, 6 * time.Minute},
		{"a service on any other port", "none", "x.test", "outbound|9000||any.dns", 800 * time.Millisecond, 6 * time.Minute},
		{"a route and a service", "pair", "x.test", "outbound|8000||pair.dns", 900 * time.Millisecond, 7 * time.Minute},
		{"a route's beginning", "batch-night", "x.test", "outbound|8000||batch.dns", 2 * time.Second, 8 * time.Minute},
		{"two rules: the first", "batch-day", "llm.example.com", "outbound|8005||domain.dns", 400 * time.Millisecond, 2 * time.Minute},
		{"a rule that names no TTL: the global one", "inherits", "x.test", "outbound|8000||inherits.dns", time.Second, 10 * time.Minute},
	}
}

// TestTheRuleThatMatchesIsTheOneThatApplies sends one request of each kind to a host that
// hangs, all at once, and sees which of them were late when the last of them is.
func TestTheRuleThatMatchesIsTheOneThatApplies(t *testing.T) {
	t.Parallel()
	w := prepare(t, setup{hosts: 1, configuration: ruled, routes: routesOfMatchings})
	for _, m := range matchings() {
		w.setup.more = append(w.setup.more, envoy.StaticCluster(m.cluster, w.addresses()...))
	}
	w.start()
	w.hosts[0].Serve(backend.Hang())

	began := time.Now()
	leave := w.sendAll(matchings())
	defer leave()
	for _, m := range matchings() {
		if m.threshold > 0 {
			w.waitForLine(fmt.Sprintf("cluster=%q endpoint=", m.cluster))
		}
	}
	require.Equal(t, len(matchings()), w.hosts[0].Count(), "all of them must have waited")
	for _, m := range matchings() {
		t.Run(m.name, func(t *testing.T) {
			line := w.blockLine(m.cluster)
			if m.threshold == 0 {
				assert.Empty(t, line.Message)
				return
			}
			assert.Contains(t, line.Message, fmt.Sprintf("endpoint=%s for=%s ", w.hosts[0].Address(), m.ttl))
			assert.GreaterOrEqual(t, line.Time.Sub(began), m.threshold)
		})
	}
}

// path leads to the route and the cluster of the matching.
func (m matching) path() string { return "/" + m.route + "/" + strings.ReplaceAll(m.cluster, "|", "/") }

func routesOfMatchings(*world) *routev3.RouteConfiguration {
	var routes []*routev3.Route
	for _, m := range matchings() {
		route := envoy.Route(m.route, "", m.cluster)
		route.Match.PathSpecifier = &routev3.RouteMatch_Path{Path: m.path()}
		routes = append(routes, route)
	}
	return envoy.Routes(envoy.AnyHost(routes...))
}

// sendAll sends one request of each kind; nobody waits for the answers.
func (w *world) sendAll(all []matching) (leave func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	var clients sync.WaitGroup
	for _, m := range all {
		clients.Go(func() { w.sendFor(ctx, http.MethodPost, m.path(), strings.NewReader("{}"), "Host", m.domain) })
	}
	return func() {
		cancel()
		clients.Wait()
	}
}

// blockLine is the line about a block in the cluster, empty if there is none.
func (w *world) blockLine(cluster string) envoy.LogLine {
	for _, line := range w.envoy.Log() {
		if strings.Contains(line.Message, fmt.Sprintf("endpoint-breaker block mode=enforce cluster=%q ", cluster)) {
			return line
		}
	}
	return envoy.LogLine{}
}

// TestRequestsThatMatchNoRuleGetTheGlobalPartOrNothing blocks a host through one route and asks
// who keeps away from it on others.
func TestRequestsThatMatchNoRuleGetTheGlobalPartOrNothing(t *testing.T) {
	t.Parallel()
	const rule = `{"_match_route_":["ruled"],"slow_threshold":"1s","dedup_window":"0s","confirm_count":1,"block_ttl":"10m"}`
	const off = `{"_match_route_":["off"],"mode":"off"}`
	w := newWorld(t, setup{
		configuration: `{"_rules_":[` + rule + `]}`,
		routes: func(*world) *routev3.RouteConfiguration {
			return envoy.Routes(envoy.AnyHost(
				envoy.Route("ruled", "/ruled", clusterName), envoy.Route("off", "/off", clusterName), envoy.Route("free", "/", clusterName),
			))
		},
	})
	w.blockIn(clusterName, "/ruled", w.hosts[0])
	for _, part := range []struct {
		name          string
		configuration string
		away          []string // paths from which the blocked host gets nothing
		reach         []string // the others
	}{
		{"without a global part only the rule's requests keep away", `{"_rules_":[` + rule + `]}`, []string{"/ruled"}, []string{"/free", "/off"}},
		{"with one, all others do, too", `{"block_ttl":"10m","_rules_":[` + rule + `]}`, []string{"/ruled", "/free", "/off"}, nil},
		{"unless their own rule says no", `{"block_ttl":"10m","_rules_":[` + rule + `,` + off + `]}`, []string{"/ruled", "/free"}, []string{"/off"}},
	} {
		w.part(part.name, func() {
			require.NoError(w.t, w.configure(part.configuration))
			for _, path := range part.away {
				assert.Zero(w.t, w.landed(path, w.hosts[0]), path)
			}
			for _, path := range part.reach {
				assert.Positive(w.t, w.landed(path, w.hosts[0]), path)
			}
		})
	}
}

// landed tells how many of some requests to the path the host has got.
func (w *world) landed(path string, host *backend.Server) int {
	w.t.Helper()
	served := 0
	for range 4 * len(w.hosts) {
		r := w.send(http.MethodGet, path, nil)
		require.NoError(w.t, r.err)
		require.Equal(w.t, http.StatusOK, r.status)
		if r.host == host.Name() {
			served++
		}
	}
	return served
}
