package envoy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	"google.golang.org/protobuf/encoding/protojson"
)

// Metric returns a counter's or a gauge's value under Envoy's plain name, for example
// "cluster.models.upstream_rq_total" or "wasmcustom.endpoint_breaker.metric.panics". What does not
// exist is 0: a plugin defines its metrics when something is first counted.
func (e *Envoy) Metric(ctx context.Context, name string) (float64, error) {
	s, err := e.admin.stats(ctx, name)
	return s.numbers[name], err
}

// Metrics returns all counters and gauges under their plain names.
func (e *Envoy) Metrics(ctx context.Context) (map[string]float64, error) {
	s, err := e.admin.stats(ctx)
	return s.numbers, err
}

// admin is a client of Envoy's administration interface.
type admin struct{ address string }

// stats holds what /stats tells; histograms are left out.
type stats struct {
	numbers map[string]float64
	texts   map[string]string
}

// stats returns all statistics whose names begin with one of the prefixes; without any, all.
func (a admin) stats(ctx context.Context, prefixes ...string) (stats, error) {
	query := url.Values{"format": {"json"}}
	if len(prefixes) > 0 {
		quoted := make([]string, len(prefixes))
		for i, p := range prefixes {
			quoted[i] = regexp.QuoteMeta(p)
		}
		query.Set("filter", "^("+strings.Join(quoted, "|")+")")
	}
	body, err := a.get(ctx, "/stats?"+query.Encode())
	if err != nil {
		return stats{}, err
	}
	var answer struct {
		Stats []struct {
			Name  string          `json:"name"`
			Value json.RawMessage `json:"value"`
		} `json:"stats"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return stats{}, fmt.Errorf("the statistics of Envoy: %w", err)
	}
	s := stats{numbers: map[string]float64{}, texts: map[string]string{}}
	for _, one := range answer.Stats {
		var number float64
		var text string
		if json.Unmarshal(one.Value, &number) == nil {
			s.numbers[one.Name] = number
		} else if json.Unmarshal(one.Value, &text) == nil {
			s.texts[one.Name] = text
		}
	}
	return s, nil
}

// listenerAddress returns where the only listener accepts connections.
func (a admin) listenerAddress(ctx context.Context) (string, error) {
	body, err := a.get(ctx, "/listeners?format=json")
	if err != nil {
		return "", err
	}
	var listeners adminv3.Listeners
	if err := protojson.Unmarshal(body, &listeners); err != nil {
		return "", fmt.Errorf("the listeners of Envoy: %w", err)
	}
	if n := len(listeners.GetListenerStatuses()); n != 1 {
		return "", fmt.Errorf("Envoy has %d listeners, want 1", n)
	}
	return hostPort(listeners.GetListenerStatuses()[0].GetLocalAddress()), nil
}

func (a admin) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.address+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	// An idle connection would outlive the Envoy.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("the administration interface of Envoy: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("the administration interface of Envoy: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the administration interface of Envoy: %s: %s: %s", path, response.Status, body)
	}
	return body, nil
}
