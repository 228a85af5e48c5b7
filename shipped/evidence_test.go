package shipped

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/wasmhost"
)

// What counts as evidence, against whom and from when: the table of docs/evidence.md is made of
// the situations below, which are played here. `go test ./shipped -run Evidence -update` writes it.

var update = flag.Bool("update", false, "write the tables of docs/evidence.md and docs/evidence.zh.md")

// situation is one row of the table.
type situation struct {
	name string // of the subtest
	text string
	zh   string
	// configuration is added to one confirmation, no window and looks every 500 ms.
	configuration string
	play          func(*world)

	whom         string  // the host that the sample is held against; "" = nobody
	at           float64 // the second at which it counts
	from         moment  // what its time runs from
	unattributed bool    // it is late, and nobody can say whose fault that is
	warns        bool    // the log says so
}

// moment is what a sample's time runs from.
type moment int

const (
	fromNothing moment = iota
	fromLastByte
	fromSeen
	fromOwnStart
	fromLastChunk
)

func (m moment) words() (english, chinese string) {
	switch m {
	case fromLastByte:
		return "the request's last byte", "请求的最后一个字节"
	case fromSeen:
		return "when the attempt was first seen", "首次看到该次尝试之时"
	case fromOwnStart:
		return "the attempt's own beginning", "该次尝试自身的开始"
	case fromLastChunk:
		return "the response's last chunk", "响应的最后一个 chunk"
	default:
		return "", ""
	}
}

// backendLatency is the attribute that Envoy has when a stream is done.
func (c *call) backendLatency(took time.Duration) {
	c.SetProperty("response.backend_latency", binary.LittleEndian.AppendUint64(nil, uint64(took)))
}

// reply is one that Envoy or a filter makes.
func (c *call) reply(status, details string) {
	c.w.t.Helper()
	c.SetResponseDetails(details, 0)
	_, err := c.ResponseHeaders(wasmhost.Headers{{":status", status}, {"content-type", "text/plain"}}, true)
	require.NoError(c.w.t, err)
	c.done()
}

// leaves is a client's disconnect.
func (c *call) leaves() {
	c.w.t.Helper()
	c.SetResponseDetails("downstream_remote_disconnect", 0x4000)
	c.done()
}

// answerWith is a complete response with that status, without a body.
func (c *call) answerWith(status string) {
	c.w.t.Helper()
	c.SetResponseDetails("via_upstream", 0)
	_, err := c.ResponseHeaders(wasmhost.Headers{{":status", status}}, true)
	require.NoError(c.w.t, err)
	c.done()
}

// upload is a request whose body has begun, on its way to A.
func upload(w *world) *call {
	w.t.Helper()
	c := w.stream(0)
	_, err := c.RequestHeaders(post, false)
	require.NoError(w.t, err)
	_, err = c.RequestData([]byte("{"), false)
	require.NoError(w.t, err)
	c.SetUpstream(hostA, 1)
	return c
}

func situations() []situation {
	return []situation{
		{
			name: "late_headers", text: "the response headers come after the threshold", zh: "响应头在阈值之后才到",
			configuration: `"check_interval":"0s"`,
			play:          func(w *world) { c := w.sendTo(0, hostA); w.to(75); c.answer() },
			whom:          hostA, at: 75, from: fromLastByte,
		},
		{
			name: "in_flight", text: "nothing has come when the threshold is reached", zh: "到达阈值时什么都没有到",
			play: func(w *world) { c := w.sendTo(0, hostA); w.to(300); c.leaves() },
			whom: hostA, at: 70, from: fromLastByte,
		},
		{
			name: "in_time", text: "the answer comes in time", zh: "响应按时到达",
			play: func(w *world) { c := w.sendTo(0, hostA); w.to(69.9); c.answer() },
		},
		{
			name: "slow_5xx", text: "a slow 500 of the endpoint", zh: "端点返回的慢 500",
			configuration: `"check_interval":"0s"`,
			play:          func(w *world) { c := w.sendTo(0, hostA); w.to(75); c.answerWith("500") },
			whom:          hostA, at: 75, from: fromLastByte,
		},
		{
			name: "fast_5xx", text: "a fast 503 of the endpoint", zh: "端点返回的快 503",
			play: func(w *world) { c := w.sendTo(0, hostA); w.to(0.1); c.answerWith("503") },
		},
		{
			name: "late_204", text: "a late 204, 304, or answer to HEAD", zh: "迟到的 204、304，或对 HEAD 的响应",
			configuration: `"check_interval":"0s"`,
			play:          func(w *world) { c := w.sendTo(0, hostA); w.to(75); c.answerWith("204") },
			whom:          hostA, at: 75, from: fromLastByte,
		},
		{
			name: "slow_upload", text: "the client uploads slowly, the answer is quick", zh: "客户端上传很慢，响应很快",
			play: func(w *world) {
				c := upload(w)
				w.to(200)
				_, err := c.RequestData([]byte("}"), true)
				require.NoError(w.t, err)
				w.to(201)
				c.answer()
			},
		},
		{
			name: "hang_after_upload", text: "a slow upload, then no answer", zh: "上传很慢，随后没有响应",
			play: func(w *world) {
				c := upload(w)
				w.to(200)
				_, err := c.RequestTrailers(wasmhost.Headers{{"x", "y"}})
				require.NoError(w.t, err)
				w.to(300)
				c.leaves()
			},
			whom: hostA, at: 270, from: fromLastByte,
		},
		{
			name: "endless_upload", text: "an upload that never ends, or that the host does not read", zh: "永不结束、或节点不读取的上传",
			play: func(w *world) { c := upload(w); w.to(500); c.leaves() },
		},
		{
			name: "early_response", text: "an answer before the upload is done", zh: "上传完成之前的响应",
			play: func(w *world) {
				c := upload(w)
				w.to(200)
				c.headers("application/json")
				_, err := c.RequestData([]byte("}"), true)
				require.NoError(w.t, err)
				w.to(400)
				c.chunk("{}", true)
				c.done()
			},
		},
		{
			name: "late_first_chunk", text: "SSE, NDJSON or gRPC: headers at once, the first chunk late", zh: "SSE、NDJSON 或 gRPC：响应头立即到达，首个 chunk 迟到",
			configuration: `"check_interval":"0s"`,
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				w.to(0.2)
				c.headers("Text/Event-Stream ; charset=UTF-8")
				w.to(72)
				c.chunk("data: 1\n\n", true)
				c.done()
			},
			whom: hostA, at: 72, from: fromLastByte,
		},
		{
			name: "silent_stream", text: "the same, and no chunk ever comes", zh: "同上，且始终没有 chunk",
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				w.to(0.2)
				c.headers("application/x-ndjson")
				w.to(300)
				c.leaves()
			},
			whom: hostA, at: 70, from: fromLastByte,
		},
		{
			name: "empty_stream", text: "a stream that ends late without a chunk (trailers only)", zh: "没有任何 chunk、迟迟才结束的流（只有 trailers）",
			configuration: `"check_interval":"0s"`,
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				c.headers("application/grpc+proto")
				w.to(80)
				_, err := c.ResponseTrailers(wasmhost.Headers{{"grpc-status", "0"}})
				require.NoError(w.t, err)
				c.done()
			},
			whom: hostA, at: 80, from: fromLastByte,
		},
		{
			name: "long_stream", text: "a stream that begins in time and lasts for an hour", zh: "按时开始、持续一小时的流",
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				w.to(1)
				c.headers("text/event-stream")
				c.chunk("data: 1\n\n", false)
				w.to(3600)
				c.chunk("data: [DONE]\n\n", true)
				c.done()
			},
		},
		{
			name: "stall", text: "a stream under way stalls, with `stall_threshold: 20s`", zh: "进行中的流停顿，且 `stall_threshold: 20s`",
			configuration: `"stall_threshold":"20s"`,
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				w.to(1)
				c.headers("text/event-stream")
				c.chunk("data: 1\n\n", false)
				w.to(20)
				c.chunk("data: 2\n\n", false)
				w.to(300)
				c.leaves()
			},
			whom: hostA, at: 40, from: fromLastChunk,
		},
		{
			name: "stall_off", text: "the same by default", zh: "同上，但为默认配置",
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				w.to(1)
				c.headers("text/event-stream")
				c.chunk("data: 1\n\n", false)
				w.to(300)
				c.leaves()
			},
		},
		{
			name: "tunnel", text: "a WebSocket or CONNECT, however long", zh: "WebSocket 或 CONNECT，无论持续多久",
			play: func(w *world) {
				c := w.stream(0)
				_, err := c.RequestHeaders(with(get, [2]string{"connection", "Upgrade"}, [2]string{"upgrade", "websocket"}), false)
				require.NoError(w.t, err)
				c.routed(1)
				w.to(1000)
				c.leaves()
			},
		},
		{
			name: "retry_after_threshold", text: "A hangs past the threshold, a retry goes to B, which answers at once", zh: "A 挂起超过阈值，重试到 B，B 立即响应",
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				w.to(80)
				c.SetUpstream(hostB, 2)
				c.backendLatency(time.Second)
				w.to(81)
				c.answer()
			},
			whom: hostA, at: 70, from: fromLastByte,
		},
		{
			name: "retry_before_threshold", text: "A hangs, but not for the threshold; B answers at once, the whole is late", zh: "A 挂起但未满阈值；B 立即响应，总耗时超过阈值",
			configuration: `"check_interval":"0s"`,
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				w.to(60)
				c.SetUpstream(hostB, 2)
				w.to(75)
				c.backendLatency(15 * time.Second)
				c.answer()
			},
			unattributed: true,
		},
		{
			name: "slow_last_attempt", text: "a retry to B, which alone takes the threshold until it answers", zh: "重试到 B，B 自身的耗时就达到阈值",
			configuration: `"check_interval":"0s"`,
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				w.to(10)
				c.SetUpstream(hostB, 2)
				w.to(85)
				c.headers("application/json")
				w.to(90)
				c.backendLatency(80 * time.Second)
				c.chunk("{}", true)
				c.done()
			},
			whom: hostB, at: 90, from: fromOwnStart,
		},
		{
			name: "slow_body_after_retry", text: "the same, but what took long was the body", zh: "同上，但耗时长的是响应体",
			configuration: `"check_interval":"0s"`,
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				w.to(60)
				c.SetUpstream(hostB, 2)
				w.to(75)
				c.headers("application/json")
				w.to(175)
				c.backendLatency(115 * time.Second)
				c.chunk("{}", true)
				c.done()
			},
			unattributed: true,
		},
		{
			name: "attempt_in_flight", text: "a retry to B, which then hangs", zh: "重试到 B，随后 B 挂起",
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				w.to(60)
				c.SetUpstream(hostB, 2)
				w.to(500)
				c.leaves()
			},
			whom: hostB, at: 140, from: fromSeen,
		},
		{
			name: "attempts_change", text: "attempts of less than the threshold, one after another", zh: "一次接一次、每次都不满阈值的尝试",
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				for i := range uint64(10) {
					w.to(float64(60 * (i + 1)))
					c.SetUpstream([]string{hostB, hostC, hostA}[i%3], i+2)
				}
				w.to(601)
				c.backendLatency(time.Second)
				c.answer()
			},
			unattributed: true,
		},
		{
			name: "old_gateway", text: "late after a retry, on an Envoy that does not tell the last attempt's time", zh: "重试之后迟到，且该 Envoy 不提供最后一次尝试的耗时",
			configuration: `"check_interval":"0s"`,
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				c.SetUpstream(hostB, 2)
				w.to(100)
				c.HideProperty("response.backend_latency")
				c.answer()
			},
			unattributed: true,
		},
		{
			name: "hedge", text: "a hedged request: B is asked as well when A is late, and answers at once", zh: "对冲请求：A 迟到时同时去问 B，B 立刻应答",
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				w.to(60)
				c.SetUpstream(hostB, 2)
				w.to(72)
				c.headers("application/json")
				c.backendLatency(12 * time.Second)
				c.chunk("{}", true)
				c.done()
			},
			unattributed: true,
		},
		{
			name: "hedge_first_wins", text: "the same, and A answers first after all", zh: "同上，但最终还是 A 先应答",
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				w.to(60)
				c.SetUpstream(hostB, 2)
				w.to(90)
				c.SetUpstream(hostA, 2)
				c.headers("application/json")
				c.backendLatency(90 * time.Second)
				c.chunk("{}", true)
				c.done()
			},
			whom: hostA, at: 90, from: fromOwnStart,
		},
		{
			name: "internal_redirect", text: "an internal redirect: A answers in time, B has the new request and answers in time", zh: "内部重定向：A 及时应答，新请求到 B，B 也及时应答",
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				w.to(40)
				c.SetResponseDetails("internal_redirect", 0)
				c.done()
				c = w.sendTo(0, hostB)
				w.to(80)
				c.answer()
			},
		},
		{
			name: "timeout", text: "the route's timeout, before the threshold", zh: "路由超时，早于阈值",
			play: func(w *world) { c := w.sendTo(0, hostA); w.to(60); c.reply("504", "response_timeout") },
			whom: hostA, at: 60, from: fromLastByte,
		},
		{
			name: "timeout_uncounted", text: "the same with `count_timeouts: false`", zh: "同上，但 `count_timeouts: false`",
			configuration: `"count_timeouts":false`,
			play:          func(w *world) { c := w.sendTo(0, hostA); w.to(60); c.reply("504", "response_timeout") },
			warns:         true,
		},
		{
			name: "timeout_past_threshold", text: "the route's timeout past the threshold, with `count_timeouts: false`", zh: "路由超时，晚于阈值，且 `count_timeouts: false`",
			configuration: `"count_timeouts":false,"check_interval":"0s"`,
			play:          func(w *world) { c := w.sendTo(0, hostA); w.to(90); c.reply("504", "response_timeout") },
			whom:          hostA, at: 90, from: fromLastByte,
		},
		{
			name: "timeout_after_retry", text: "the route's timeout after a retry", zh: "重试之后的路由超时",
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				w.to(30)
				c.SetUpstream(hostB, 2)
				w.to(60)
				c.reply("504", "response_timeout")
			},
			unattributed: true,
		},
		{
			name: "last_try_timeout", text: "the last attempt's own timeout (`per_try_timeout`)", zh: "最后一次尝试自身的超时（`per_try_timeout`）",
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				w.to(30)
				c.SetUpstream(hostB, 2)
				w.to(60)
				c.reply("504", "upstream_per_try_timeout")
			},
			whom: hostB, at: 60, from: fromLastByte,
		},
		{
			name: "filter_reply", text: "a late reply of Envoy or of another filter (authorization, rate limit, direct response)", zh: "Envoy 或其他过滤器迟到的应答（鉴权、限流、直接响应）",
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				c.SetUpstream("", 0)
				w.to(71)
				c.reply("401", "ext_authz_denied")
			},
		},
		{
			name: "no_upstream", text: "no healthy upstream, overflow, fault injection", zh: "没有健康上游、溢出、故障注入",
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				c.SetUpstream("", 0)
				c.reply("503", "no_healthy_upstream")
			},
		},
		{
			name: "connection_failure", text: "a connection that fails, or a reset, before the threshold", zh: "阈值之前的连接失败或重置",
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				w.to(5)
				c.reply("503", "upstream_reset_before_response_started{remote_connection_failure}")
			},
		},
		{
			name: "reset_past_threshold", text: "a reset past the threshold", zh: "阈值之后的重置",
			configuration: `"check_interval":"0s"`,
			play: func(w *world) {
				c := w.sendTo(0, hostA)
				w.to(90)
				c.reply("503", "upstream_reset_before_response_started{connection_termination}")
			},
			whom: hostA, at: 90, from: fromLastByte,
		},
		{
			name: "client_leaves", text: "the client leaves before the threshold", zh: "客户端在阈值之前离开",
			play: func(w *world) { c := w.sendTo(0, hostA); w.to(69.9); c.leaves() },
		},
		{
			name: "client_leaves_late", text: "the client leaves past the threshold, between two looks", zh: "客户端在阈值之后、两次检查之间离开",
			play: func(w *world) { w.to(0.25); c := w.sendTo(0, hostA); w.to(70.4); c.leaves() },
			whom: hostA, at: 70.4, from: fromLastByte,
		},
		{
			name: "counted_abort", text: "the client leaves after 30 s, with `count_aborts_after: 20s`", zh: "客户端 30 s 后离开，且 `count_aborts_after: 20s`",
			configuration: `"count_aborts_after":"20s"`,
			play:          func(w *world) { c := w.sendTo(0, hostA); w.to(30); c.leaves() },
			whom:          hostA, at: 30, from: fromLastByte,
		},
		{
			name: "short_abort", text: "the client leaves after 10 s, with the same", zh: "同上，但客户端 10 s 后离开",
			configuration: `"count_aborts_after":"20s"`,
			play:          func(w *world) { c := w.sendTo(0, hostA); w.to(10); c.leaves() },
		},
		{
			name: "missed_override", text: "an override to A, and B answers late", zh: "override 指向 A，而 B 迟迟才响应",
			configuration: `"override":"always","check_interval":"0s"`,
			play: func(w *world) {
				c := w.send(0)
				c.SetUpstream(hostB, 1)
				w.to(75)
				c.answer()
			},
			whom: hostB, at: 75, from: fromLastByte,
		},
	}
}

func TestEvidence(t *testing.T) {
	for _, s := range situations() {
		t.Run(s.name, func(t *testing.T) {
			configuration := `{"confirm_count":1,"dedup_window":"0s","block_ttl":"1h"`
			if s.configuration != "" {
				configuration += "," + s.configuration
			}
			w := start(t, configuration+"}", 1)
			s.play(w)
			w.to((w.clock.Monotonic() - w.started).Seconds() + 100) // nothing follows

			want := map[string]float64{}
			if s.whom != "" {
				want[s.whom] = s.at
			}
			got := map[string]float64{}
			for _, e := range w.entries() {
				got[e.Endpoint] = (e.Since - w.started).Seconds()
			}
			assert.Equal(t, want, got, "who is blocked, since when")
			assert.EqualValues(t, len(want), w.metric("samples"), "one sample at most")
			unattributed := int64(0)
			if s.unattributed {
				unattributed = 1
			}
			assert.Equal(t, unattributed, w.metric("samples_unattributed"))
			assert.Equal(t, s.warns, len(w.logged("warning", "count_timeouts=false")) > 0)
			assert.Zero(t, w.total("panics"))
			assert.Zero(t, w.total("host_call_errors"))
		})
	}
}

func TestTheEvidencePagesShowTheSituationsThatAreTested(t *testing.T) {
	for page, table := range map[string]func(situation) string{
		"../docs/evidence.md":    situation.row,
		"../docs/evidence.zh.md": situation.chineseRow,
	} {
		old, err := os.ReadFile(page)
		require.NoError(t, err)
		var rows strings.Builder
		for _, s := range situations() {
			rows.WriteString(table(s))
		}
		const begin, end = "<!-- situations -->\n", "<!-- end of situations -->"
		before, rest, found := bytes.Cut(old, []byte(begin))
		require.True(t, found, page)
		head, after, found := bytes.Cut(rest, []byte(end))
		require.True(t, found, page)
		heading := strings.Join(strings.SplitAfterN(string(head), "\n", 3)[:2], "")
		want := string(before) + begin + heading + rows.String() + end + string(after)
		if *update {
			require.NoError(t, os.WriteFile(page, []byte(want), 0o600))
			continue
		}
		assert.Equal(t, want, string(old), "%s: go test ./shipped -run Evidence -update", page)
	}
}

func (s situation) row() string {
	counts, whom := "no", ""
	switch {
	case s.unattributed:
		counts, whom = "no, counted as unattributed", "nobody can tell"
	case s.whom != "":
		counts, whom = "yes", named(s.whom)
	}
	from, _ := s.from.words()
	return fmt.Sprintf("| %s | %s | %s | %s | `TestEvidence/%s` |\n", s.text, counts, whom, from, s.name)
}

func (s situation) chineseRow() string {
	counts, whom := "否", ""
	switch {
	case s.unattributed:
		counts, whom = "否，记为“未归因”", "无从判断"
	case s.whom != "":
		counts, whom = "是", named(s.whom)
	}
	_, from := s.from.words()
	return fmt.Sprintf("| %s | %s | %s | %s | `TestEvidence/%s` |\n", s.zh, counts, whom, from, s.name)
}

// named is what the table calls a host.
func named(host string) string {
	return map[string]string{hostA: "A", hostB: "B", hostC: "C"}[host]
}
