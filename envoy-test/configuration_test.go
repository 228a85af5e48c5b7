package envoytest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/backend"
	"endpoint-breaker/internal/envoy"
)

// mistake is a configuration that is refused, and what is said about it.
type mistake struct{ name, configuration, said string }

func mistakes() []mistake {
	const rule = `"_rules_":[{"_match_route_":["llm"],"slow_threshold":"1s"}]`
	return []mistake{
		{
			"an unknown key", `{"slow_treshold":"70s"}`,
			`slow_treshold: got an unknown key, want slow_threshold perhaps`,
		},
		{
			"a wrong global part beside rules that are right", `{"block_ttl":"2h",` + rule + `}`,
			`block_ttl: got "2h", want `,
		},
		{
			"a duration without a unit", `{"slow_threshold":70}`,
			`slow_threshold: got 70, want a duration with a unit such as "70s"`,
		},
		{
			"a value out of range", `{"confirm_count":21}`,
			`confirm_count: got 21, want an integer from 1 to 20`,
		},
		{
			"the same key twice", `{"block_ttl":"45s","block_ttl":"30s"}`,
			`block_ttl: got the key twice, want it once`,
		},
		{
			"broken JSON", `{"block_ttl":"45s"`,
			`configuration: got invalid JSON at byte 18`,
		},
		{
			"a wrong rule beside a global part that is right", `{"block_ttl":"45s","_rules_":[{"_match_route_":["llm"],"pick":"best"}]}`,
			`_rules_[0].pick: got "best", want "round_robin", "random" or "least_request"`,
		},
	}
}

// TestAWrongConfigurationAtAFirstStartCreatesNoListener tries two of the mistakes: each start
// costs an Envoy. The second is one that the wrapper alone would not notice.
func TestAWrongConfigurationAtAFirstStartCreatesNoListener(t *testing.T) {
	t.Parallel()
	for _, m := range mistakes()[:2] {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			w := prepare(t, setup{configuration: m.configuration, hosts: 1, workers: 1})
			assertRefused(t, w.tryStart(), m)
		})
	}
}

func assertRefused(t *testing.T, err error, m mistake) {
	t.Helper()
	var refused *envoy.RefusedError
	require.ErrorAs(t, err, &refused)
	assert.Contains(t, refused.Reason, "endpoint-breaker config refused: "+m.said)
	assert.Contains(t, refused.Reason, "ingress: Unable to create Wasm plugin endpoint-breaker", "that is Envoy's verdict on the listener")
}

// TestAChangeOfConfigurationWhileAHostIsBlocked is the life of one gateway; its parts build
// upon each other.
func TestAChangeOfConfigurationWhileAHostIsBlocked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{configuration: firm})
	blocked := w.hosts[0]
	w.spread(4 * len(w.hosts))
	w.blockIn(clusterName, "/", blocked)

	for _, m := range mistakes() {
		w.part("refused, the old one goes on: "+m.name, func() {
			assertRefused(w.t, w.configure(m.configuration), m)
			assert.Zero(w.t, w.landed("/", blocked), "the old configuration must still keep it blocked")
		})
	}
	w.part("the block stays and no request fails", func() {
		arrived := blocked.Count()
		stop := w.background(4, 5*time.Millisecond)
		for _, pick := range []string{"random", "least_request", "round_robin"} {
			require.NoError(w.t, w.configure(with(firm, `"pick":"`+pick+`"`)))
			assert.Zero(w.t, w.landed("/", blocked), pick)
		}
		replies := stop()
		assert.NotEmpty(w.t, replies)
		for _, r := range replies {
			require.NoError(w.t, r.err)
			require.Equal(w.t, http.StatusOK, r.status)
		}
		assert.Equal(w.t, arrived, blocked.Count(), "nothing may reach it")
	})
	w.part("what has begun ends under the old one", func() {
		released := make(chan struct{})
		hanging := w.begin(backend.Events(backend.Until(released)))
		require.NoError(w.t, w.configure(with(firm, `"slow_threshold":"1h"`)))
		w.waitForLine(fmt.Sprintf("endpoint=%s for=", hanging.host.Address()))
		close(released)
		answer := <-hanging.answer
		require.NoError(w.t, answer.err)
		assert.Equal(w.t, http.StatusOK, answer.status)
		assert.Equal(w.t, 3, strings.Count(string(answer.body), "data: "), string(answer.body))
	})
	w.part("a shorter block_ttl holds for the blocks that are there", func() {
		const ttl = time.Second
		from := time.Now()
		require.NoError(w.t, w.configure(with(firm, `"block_ttl":"1s"`)))
		require.Eventually(w.t, func() bool { return !w.sentTo(blocked, from).IsZero() }, within, polling)
		assert.GreaterOrEqual(w.t, w.sentTo(blocked, from).Sub(from), ttl)
	})
}

// configure changes the plugin's configuration. Requests that are made afterwards come under
// the new one.
func (w *world) configure(configuration string) error {
	w.t.Helper()
	err := w.envoy.SetListener(w.t.Context(), w.listener(configuration))
	w.client.CloseIdleConnections() // which belong to the listener before
	return err
}

// with is the configuration with one more key, or another value for it.
func with(configuration, member string) string {
	key, _, _ := strings.Cut(member, ":")
	var kept []string
	for m := range strings.SplitSeq(strings.Trim(configuration, "{}"), ",") {
		if !strings.HasPrefix(m, key+":") {
			kept = append(kept, m)
		}
	}
	return "{" + strings.Join(append(kept, member), ",") + "}"
}

// begun is a request that has reached its host.
type begun struct {
	host   *backend.Server
	answer <-chan reply
}

// begin sends a request that is served in that way, unlike those after it.
func (w *world) begin(handler http.Handler) begun {
	w.t.Helper()
	for _, h := range w.hosts {
		h.Serve(handler)
	}
	const path = "/begun"
	answer := make(chan reply, 1)
	go func() { answer <- w.sendFor(w.t.Context(), http.MethodGet, path, nil) }()
	var at *backend.Server
	require.Eventually(w.t, func() bool {
		for _, h := range w.hosts {
			if requests := h.Requests(); len(requests) > 0 && requests[len(requests)-1].Path == path {
				at = h
			}
		}
		return at != nil
	}, within, polling)
	for _, h := range w.hosts {
		h.Serve(backend.Usual())
	}
	return begun{host: at, answer: answer}
}

// sentTo sends some requests and tells when the host got its first since then; zero = it has
// got none.
func (w *world) sentTo(host *backend.Server, since time.Time) time.Time {
	for range 2 * len(w.hosts) {
		w.sendFor(w.t.Context(), http.MethodGet, "/v1/models", nil)
	}
	for _, r := range host.Requests() {
		if r.Arrived.After(since) {
			return r.Arrived
		}
	}
	return time.Time{}
}
