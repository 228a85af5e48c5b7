package envoy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	streamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stream/v3"
	"google.golang.org/protobuf/types/known/structpb"
)

// Access is a request that has ended, as Envoy's access log tells it.
type Access struct {
	// Start is when the request's first byte came in, to the microsecond.
	Start time.Time
	// Duration is from there to the last byte of the response, to the microsecond; without one, to
	// the end of the request, to the millisecond.
	Duration time.Duration
	// Headers is the time to the first byte of the endpoint's response; 0 if there was none.
	Headers time.Duration
	// Method, Path (with its query), Protocol ("HTTP/1.1", "HTTP/2") and Authority are the
	// client's.
	Method, Path, Protocol, Authority string
	// RequestID is x-request-id.
	RequestID string
	// Status is 0 when the client left before a response had begun.
	Status int
	// Details tells why the response is what it is: "via_upstream", "response_timeout", …
	Details string
	// Flags are Envoy's response flags, for example "URX,UF"; empty when all went well.
	Flags string
	// Route and Cluster are names; empty when there was none.
	Route, Cluster string
	// Host is the "ip:port" of the endpoint, the last one after retries; empty if none was
	// reached.
	Host string
	// Attempts counts the endpoints asked; more than 1 means retries.
	Attempts int
	// BytesReceived and BytesSent are the bodies of the request and the response.
	BytesReceived, BytesSent int64
}

// accessFormat is the access log's JSON by key. A value of one command alone keeps its type; what is
// not there is null.
var accessFormat = map[string]string{
	"start":          "%START_TIME(%s%9f)%",
	"duration_us":    "%COMMON_DURATION(DS_RX_BEG:DS_TX_END:us)%",
	"duration_ms":    "%DURATION%",
	"headers_us":     "%COMMON_DURATION(DS_RX_BEG:US_RX_BEG:us)%",
	"method":         "%REQ(:METHOD)%",
	"path":           "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%",
	"protocol":       "%PROTOCOL%",
	"authority":      "%REQ(:AUTHORITY)%",
	"request_id":     "%REQ(X-REQUEST-ID)%",
	"status":         "%RESPONSE_CODE%",
	"details":        "%RESPONSE_CODE_DETAILS%",
	"flags":          "%RESPONSE_FLAGS%",
	"route":          "%ROUTE_NAME%",
	"cluster":        "%UPSTREAM_CLUSTER_RAW%",
	"host":           "%UPSTREAM_HOST%",
	"attempts":       "%UPSTREAM_REQUEST_ATTEMPT_COUNT%",
	"bytes_received": "%BYTES_RECEIVED%",
	"bytes_sent":     "%BYTES_SENT%",
}

// accessLog writes one line of JSON for each request to standard output.
func accessLog() ([]*accesslogv3.AccessLog, error) {
	format := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for _, key := range slices.Sorted(maps.Keys(accessFormat)) {
		format.Fields[key] = structpb.NewStringValue(accessFormat[key])
	}
	config, err := typed(&streamv3.StdoutAccessLog{AccessLogFormat: &streamv3.StdoutAccessLog_LogFormat{
		LogFormat: &corev3.SubstitutionFormatString{
			Format: &corev3.SubstitutionFormatString_JsonFormat{JsonFormat: format},
		},
	}})
	if err != nil {
		return nil, err
	}
	return []*accesslogv3.AccessLog{{
		Name:       "envoy.access_loggers.stdout",
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: config},
	}}, nil
}

// accessReader reads the access log.
type accessReader struct {
	report func(Access)
	lineSplitter

	mu  sync.Mutex
	err error // of the first line that was not understood
}

func newAccessReader(report func(Access)) *accessReader {
	r := &accessReader{report: report}
	r.lineSplitter.line = r.read
	return r
}

func (r *accessReader) read(line []byte) {
	if r.report == nil {
		return
	}
	a, err := parseAccess(line)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.err == nil {
			r.err = fmt.Errorf("the access log: %w in %s", err, line)
		}
		return
	}
	r.report(a)
}

func (r *accessReader) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func parseAccess(line []byte) (Access, error) {
	var e struct {
		Start         json.Number `json:"start"`
		DurationUs    *int64      `json:"duration_us"`
		DurationMs    int64       `json:"duration_ms"`
		HeadersUs     int64       `json:"headers_us"`
		Method        string      `json:"method"`
		Path          string      `json:"path"`
		Protocol      string      `json:"protocol"`
		Authority     string      `json:"authority"`
		RequestID     string      `json:"request_id"`
		Status        int         `json:"status"`
		Details       string      `json:"details"`
		Flags         string      `json:"flags"`
		Route         string      `json:"route"`
		Cluster       string      `json:"cluster"`
		Host          string      `json:"host"`
		Attempts      int         `json:"attempts"`
		BytesReceived int64       `json:"bytes_received"`
		BytesSent     int64       `json:"bytes_sent"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return Access{}, err
	}
	start, err := e.Start.Int64()
	if err != nil {
		return Access{}, fmt.Errorf("start: %w", err)
	}
	if e.Flags == "-" {
		e.Flags = ""
	}
	duration := time.Duration(e.DurationMs) * time.Millisecond
	if e.DurationUs != nil {
		duration = time.Duration(*e.DurationUs) * time.Microsecond
	}
	return Access{
		Start: time.Unix(0, start), Duration: duration, Headers: time.Duration(e.HeadersUs) * time.Microsecond,
		Method: e.Method, Path: e.Path, Protocol: e.Protocol, Authority: e.Authority, RequestID: e.RequestID,
		Status: e.Status, Details: e.Details, Flags: e.Flags, Route: e.Route, Cluster: e.Cluster,
		Host: e.Host, Attempts: e.Attempts, BytesReceived: e.BytesReceived, BytesSent: e.BytesSent,
	}, nil
}
