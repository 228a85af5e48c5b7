package wasmhost

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func integer(value int64) string { return fmt.Sprintf("%q", IntegerProperty(value)) }

const notFound = "error: not found"

func TestPropertiesOfARequest(t *testing.T) {
	p := startProbe(t)
	for path, want := range map[string]string{
		"route_name":                     `"route"`,
		"cluster_name":                   `"outbound|443||llm.dns"`,
		"xds.route_name":                 `"route"`,
		"xds.cluster_name":               `"outbound|443||llm.dns"`,
		"plugin_name":                    `"probe"`,
		"plugin_root_id":                 `"root"`,
		"request.path":                   `"/v1/chat?a=b"`,
		"request.url_path":               `"/v1/chat"`,
		"request.query":                  `"a=b"`,
		"request.host":                   `"llm.example"`,
		"request.scheme":                 `"https"`,
		"request.method":                 `"POST"`,
		"request.headers.content-type":   `"application/json"`,
		"request.headers.absent":         notFound,
		"request.id":                     notFound,
		"request.referer":                notFound,
		"request.useragent":              notFound,
		"request.size":                   integer(0),
		"request.time":                   integer(wallStart.UnixNano()),
		"request.duration":               notFound,
		"request.unheard-of":             notFound,
		"response.code":                  notFound,
		"response.code_details":          notFound,
		"response.flags":                 integer(0),
		"response.size":                  integer(0),
		"upstream.address":               notFound,
		"upstream.port":                  notFound,
		"upstream.request_attempt_count": integer(0),
		"upstream.num_endpoints":         notFound,
		"unheard-of":                     notFound,
		"unheard.of":                     notFound,
	} {
		t.Run(path, func(t *testing.T) {
			assert.Equal(t, []string{want}, p.run("property "+path))
		})
	}
}

func TestPropertiesOfAResponse(t *testing.T) {
	p := startProbe(t)
	s, err := p.Worker(0).NewStream(Route{Hosts: func() []Host { return make([]Host, 3) }})
	require.NoError(t, err)
	const script = "property upstream.address; property upstream.port; property upstream.request_attempt_count; property upstream.num_endpoints;" +
		"property response.code; property response.code_details; property response.flags; property response.size;" +
		"property response.headers.content-type; property request.path; property request.duration"
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-response-headers", script, "do-done", script), false))
	flowOf(t, FlowContinue)(s.RequestData([]byte("12345"), true))
	s.SetUpstream("10.0.0.1:8000", 2)
	flowOf(t, FlowContinue)(s.ResponseHeaders(response(), false))
	assert.Equal(t, []string{
		`"10.0.0.1:8000"`, integer(8000), integer(2), integer(3),
		notFound, `"via_upstream"`, integer(0), integer(0), `"text/plain"`, notFound, notFound,
	}, p.results())
	flowOf(t, FlowContinue)(s.ResponseData([]byte("1234567"), true))
	s.SetResponseDetails("stream_idle_timeout", 0x10000)
	p.clock.Advance(70_000_000_000)
	require.NoError(t, s.Close())
	assert.Equal(t, []string{
		`"10.0.0.1:8000"`, integer(8000), integer(2), integer(3),
		integer(200), `"stream_idle_timeout"`, integer(0x10000), integer(7), `"text/plain"`, `"/v1/chat?a=b"`, integer(70_000_000_000),
	}, p.results())
}

func TestAResponseOfTheGatewayItselfHasNoDetailsOfAnUpstream(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-response-headers", "property response.code_details"), true))
	flowOf(t, FlowContinue)(s.ResponseHeaders(response(), true))
	assert.Equal(t, []string{notFound}, p.results())
}

func TestTheContentLengthIsTheSizeOfTheRequest(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request("content-length", "12", "do-request-headers", "property request.size"), false))
	assert.Equal(t, []string{integer(12)}, p.results())
}

func TestATestCanSetAndHideProperties(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	s.SetProperty("route_name", []byte("other"))
	s.SetProperty("response.backend_latency", IntegerProperty(5))
	s.SetProperty("empty", nil)
	s.HideProperty("upstream.request_attempt_count")
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-headers",
		"property route_name; property response.backend_latency; property empty; property upstream.request_attempt_count"), true))
	assert.Equal(t, []string{`"other"`, integer(5), `""`, notFound}, p.results())
}

func TestAnAttributeWinsOverWhatThePluginSet(t *testing.T) {
	p := startProbe(t)
	assert.Equal(t, []string{"ok", `"route"`}, p.run("property-set route_name mine; property route_name"))
}

func TestWhatThePluginSetIsReadableFromOutside(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-headers", "property-set ai_log {}"), true))
	value, found := s.Property("ai_log")
	assert.True(t, found)
	assert.Equal(t, "{}", string(value))
	_, found = s.Property("other")
	assert.False(t, found)
}

func TestTheTotalSizesCountTheHeadersThatAreOpen(t *testing.T) {
	const script = "property request.total_size; property response.total_size"
	p := startProbe(t)
	s := p.open()
	headers := request("do-request-headers", script, "do-request-body", script, "do-done", script)
	flowOf(t, FlowContinue)(s.RequestHeaders(headers, false))
	size := int64(headers.byteSize())
	assert.Equal(t, []string{integer(size), integer(0)}, p.results())
	flowOf(t, FlowContinue)(s.RequestData([]byte("12345"), true))
	assert.Equal(t, []string{integer(5), integer(0)}, p.results(), "the headers are closed")
	flowOf(t, FlowContinue)(s.ResponseHeaders(Headers{{":status", "200"}}, false))
	flowOf(t, FlowContinue)(s.ResponseData([]byte("1234567"), false))
	flowOf(t, FlowContinue)(s.ResponseTrailers(Headers{{"a", "1"}}))
	p.said()
	require.NoError(t, s.Close())
	assert.Equal(t, []string{integer(size + 5), integer(10 + 7 + 2)}, p.results())
}
