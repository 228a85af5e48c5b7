package envoytest

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"endpoint-breaker/internal/backend"
)

// The situations of docs/evidence.md on a real Envoy: whether a request counts, and against whom.
// One sample is enough to block, so that the log names whom it is against.

// The threshold of sensitive, and times that an attempt takes. Two that come soon are too late
// together. A busy machine adds to all of them.
const (
	threshold = 3 * time.Second
	soon      = threshold/2 + 100*time.Millisecond
	justLate  = threshold + 400*time.Millisecond // so that a look one threshold later comes after it
	tooLate   = threshold + threshold/2
)

// sensitive is a configuration under which each sample counts and blocks. The rules are the entries
// of _rules_.
func sensitive(checkInterval string, rules ...string) string {
	return fmt.Sprintf(`{"slow_threshold":"%s","dedup_window":"0s","confirm_count":1,"confirm_window":"1m","block_ttl":"10m",`+
		`"check_interval":%q,"_rules_":[%s]}`, threshold, checkInterval, strings.Join(rules, ","))
}

// TestEvidence plays most of the situations.
func TestEvidence(t *testing.T) {
	t.Parallel()
	filters := around(withFaults(t), withCompressor(t))
	runAtOnce(t, setup{workers: 2, filters: filters, manager: allowConnect, configuration: sensitive("100ms",
		`{"_match_route_":["timeouts-uncounted","attempts-last-uncounted"],"count_timeouts":false}`,
		`{"_match_route_":["streams-stall","streams-stall-gzip","streams-stall-none"],"stall_threshold":"2s"}`,
		`{"_match_route_prefix_":["clients-departure-"],"slow_threshold":"10m","confirm_window":"10m","count_aborts_after":"1500ms"}`,
	)}, map[string][]neighbour{
		"attempts": attemptSituations(),
		"clients":  clientSituations(),
		"replies":  replySituations(),
		"streams":  streamSituations(),
		"timeouts": timeoutSituations(),
		"uploads":  uploadSituations(),
	})
}

// TestEvidenceWithoutLooks plays those in which nobody looks at requests in flight: what has
// happened is told by the answer, or by the end.
func TestEvidenceWithoutLooks(t *testing.T) {
	t.Parallel()
	runAtOnce(t, setup{workers: 2, filters: withFaults(t), configuration: sensitive("0s",
		`{"_match_route_":["ends-last-uncounted","ends-timeout-uncounted"],"count_timeouts":false}`,
		`{"_match_route_":["ends-stall"],"stall_threshold":"2s"}`,
	)}, map[string][]neighbour{"ends": endSituations()})
}

// around puts filters around the plugin's, and others around those.
func around(inner, outer func([]*hcmv3.HttpFilter) []*hcmv3.HttpFilter) func([]*hcmv3.HttpFilter) []*hcmv3.HttpFilter {
	return func(breaker []*hcmv3.HttpFilter) []*hcmv3.HttpFilter { return outer(inner(breaker)) }
}

// runAtOnce is runNeighbours for tests that mostly wait: all run at the same time, however few
// processors there are. The routes of a group begin with its name.
func runAtOnce(t *testing.T, s setup, groups map[string][]neighbour) {
	t.Helper()
	var all []neighbour
	var worlds []*world
	for group, neighbours := range groups {
		for _, n := range neighbours {
			n.route, n.rule = group+"-"+n.route, group+": "+n.rule
			all, worlds = append(all, n), append(worlds, n.prepare(t, s))
		}
	}
	startNeighbours(t, s, all, worlds)
	var running sync.WaitGroup
	for i, n := range all {
		running.Go(func() {
			t.Run(n.rule, func(t *testing.T) {
				worlds[i].t = t
				n.test(worlds[i])
			})
		})
	}
	running.Wait()
}

// against requires that all that happened amounts to one sample, which is the host's.
func (w *world) against(host *backend.Server, reason string) {
	w.t.Helper()
	w.eventually("a block", func() bool { return len(w.blocks()) > 0 })
	w.settle()
	assert.Equal(w.t, map[string]float64{"samples": 1, "blocks_enforced": 1}, w.judgement())
	blocks := w.blocks()
	require.Len(w.t, blocks, 1)
	assert.Equal(w.t, host.Name(), w.nameOf(blocks[0].Endpoint))
	assert.Equal(w.t, reason, blocks[0].Reason)
}

// againstNobody requires that nothing which happened is a sample. So many requests have ended.
func (w *world) againstNobody(requests int) {
	w.t.Helper()
	w.finished(requests)
	w.settle()
	assert.Empty(w.t, w.judgement())
	assert.Empty(w.t, w.blocks())
}

// againstUnknown requires that the one request was late and nobody can tell whose fault it is.
func (w *world) againstUnknown() {
	w.t.Helper()
	w.finished(1)
	w.settle()
	assert.Equal(w.t, map[string]float64{"samples_unattributed": 1}, w.judgement())
	assert.Empty(w.t, w.blocks())
}

// settle lets a few looks at the requests in flight pass.
func (w *world) settle() { <-time.After(400 * time.Millisecond) }

// judgement is what the plugin has made of requests: its metrics of samples and blocks.
func (w *world) judgement() map[string]float64 {
	w.t.Helper()
	judgement := w.metrics()
	for name := range judgement {
		if !strings.HasPrefix(name, "samples") && !strings.HasPrefix(name, "blocks") {
			delete(judgement, name)
		}
	}
	return judgement
}

// serveAll makes all hosts do the same.
func (w *world) serveAll(handler http.Handler) {
	for _, h := range w.hosts {
		h.Serve(handler)
	}
}

// attemptHeader tells a host which attempt of Envoy's its request is.
const attemptHeader = "X-Envoy-Attempt-Count"

// byAttempt answers each attempt in a way of its own; the last way is for all further ones.
func byAttempt(ways ...http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		number, err := strconv.Atoi(r.Header.Get(attemptHeader))
		if err != nil {
			panic(err) // the domain does not tell hosts
		}
		ways[min(number, len(ways))-1].ServeHTTP(w, r)
	})
}

// attempted waits for that attempt, and returns the host that has it.
func (w *world) attempted(number int) (at *backend.Server) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("attempt %d", number), func() bool {
		for _, h := range w.hosts {
			for _, r := range h.Requests() {
				if r.Header.Get(attemptHeader) == strconv.Itoa(number) {
					at = h
				}
			}
		}
		return at != nil
	})
	return at
}

// domainName is where the world's client sends its requests.
func (w *world) domainName() string {
	w.t.Helper()
	to, ok := w.client.Transport.(toDomain)
	require.True(w.t, ok)
	return to.name
}

// action is what becomes of a neighbour's requests.
func action(domain *routev3.VirtualHost) *routev3.RouteAction {
	return domain.GetRoutes()[0].GetRoute()
}

// afterDelay answers 200 when the time is over.
func afterDelay(d time.Duration) http.Handler { return backend.After(backend.For(d), backend.Usual()) }

// dropAfter breaks off when the time is over.
func dropAfter(d time.Duration) http.Handler { return backend.After(backend.For(d), backend.Drop()) }

// part is a chunk of an answer, and how long it is waited for.
type part struct {
	after time.Duration
	text  string
}

// streaming answers with headers at once and then with the parts.
func streaming(contentType string, parts ...part) http.Handler {
	return backend.After(backend.For(0), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for _, p := range append([]part{{}}, parts...) {
			if backend.For(p.after)(r.Context()) != nil {
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, p.text) // a client that has left hears nothing
			_ = http.NewResponseController(w).Flush()
		}
	}))
}

// slowBody is a request body whose bytes come one by one.
type slowBody struct {
	left  int
	pause time.Duration
}

// slowly is a body that takes so long.
func slowly(d time.Duration) io.Reader { return &slowBody{left: 10, pause: d / 10} }

func (b *slowBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	<-time.After(b.pause)
	b.left--
	return copy(p, "x"), nil
}

// mustPack is for messages that can always be written.
func mustPack(m proto.Message) *anypb.Any {
	packed, err := anypb.New(m)
	if err != nil {
		panic(err)
	}
	return packed
}

// request sends one and requires the status.
func (w *world) request(status int) reply {
	w.t.Helper()
	r := w.send(http.MethodGet, "/v1/models", nil)
	require.NoError(w.t, r.err)
	require.Equal(w.t, status, r.status)
	return r
}
