package foreign

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/tidwall/gjson"

	"endpoint-breaker/internal/wasmhost"
)

// band is the chain of gpustack's load balancing: candidates are published, some state an opinion, the
// finisher decides.
func band(opinions ...filter) []filter {
	return append(append([]filter{{"gpustack-lb", lbContextConfig}}, opinions...), filter{"gpustack-lb", lbFinisherConfig})
}

// chosen sends a chat and gives the cluster that the finisher has chosen.
func chosen(g *gateway, more ...[2]string) string {
	g.t.Helper()
	got := g.send(chat(question, more...), completion())
	g.requireNoTrap()
	target := header(got.RequestHeadersNow(), "x-higress-target-cluster")
	model := map[string]string{cluster: "qwen2.5-7b", otherCluster: "qwen2.5-72b"}[target]
	assert.Equal(g.t, model, gjson.Get(got.requestBody, "model").String(), "the model of the candidate")
	return target
}

// ranks gives what the opinions add up to.
func ranks(g *gateway, more ...[2]string) string {
	g.t.Helper()
	value, _ := g.send(chat(question, more...), completion()).Property("gpustack_lb_ranks")
	return string(value)
}

func checkLB(t *testing.T, g *gateway) {
	t.Helper()
	published, _ := g.send(chat(question, [2]string{"x-higress-llm-model", "qwen-alias"}), completion()).Property("gpustack_lb_candidates")
	assert.Equal(t, []string{cluster, otherCluster}, clustersOf(published))
	for _, c := range []struct {
		weights [2]int
		want    string
	}{{[2]int{1, 0}, cluster}, {[2]int{0, 1}, otherCluster}} {
		g := restart(t, nil, filter{"gpustack-lb", weighted(c.weights)}, filter{"gpustack-lb", lbFinisherConfig})
		for range 5 {
			assert.Equal(t, c.want, chosen(g, [2]string{"x-higress-llm-model", "qwen-alias"}))
		}
	}
}

// weighted is lbContextConfig with a weight for each candidate.
func weighted(weights [2]int) string {
	return strings.NewReplacer(
		`"targetId":"2"`, fmt.Sprintf(`"targetId":"2","weight":%d`, weights[0]),
		`"targetId":"3"`, fmt.Sprintf(`"targetId":"3","weight":%d`, weights[1]),
	).Replace(lbContextConfig)
}

func clustersOf(candidates []byte) []string {
	var names []string
	for _, candidate := range gjson.GetBytes(candidates, "candidates.#.cluster").Array() {
		names = append(names, candidate.String())
	}
	return names
}

func checkLeastLoad(t *testing.T, _ *gateway) {
	t.Helper()
	g := restart(t, nil, filter{"gpustack-lb-least-load", `{"enabled":true}`}, filter{"gpustack-lb", lbFinisherConfig})
	for _, c := range []struct {
		inFlight [2]int
		want     string
	}{{[2]int{3, 1}, otherCluster}, {[2]int{1, 3}, cluster}} {
		in := chat(question, [2]string{"x-higress-llm-model", "qwen-alias"})
		in.properties = map[string]string{"gpustack_lb_candidates": loaded(c.inFlight)}
		got := g.send(in, completion())
		opinion, _ := got.Property("gpustack_lb_ranks")
		score := scoresOf(opinion)
		assert.Greater(t, score[c.want], score[theOther(c.want)], string(opinion))
		assert.Equal(t, c.want, header(got.RequestHeadersNow(), "x-higress-target-cluster"))
	}
}

// loaded is what gpustack-lb publishes when requests are in flight to its candidates.
func loaded(inFlight [2]int) string {
	const candidate = `{"cluster":%q,"modelName":%q,"targetId":%q,"kind":"instance","inflight":%d,"penalty":0}`
	return fmt.Sprintf(`{"candidates":[`+candidate+`,`+candidate+`]}`,
		cluster, "qwen2.5-7b", "2", inFlight[0], otherCluster, "qwen2.5-72b", "3", inFlight[1])
}

// scoresOf gives the first opinion by cluster.
func scoresOf(ranks []byte) map[string]float64 {
	scores := map[string]float64{}
	for candidate, score := range gjson.GetBytes(ranks, "0.scores").Map() {
		name, _, _ := strings.Cut(candidate, "\x00") // the target's id comes behind
		scores[name] = score.Float()
	}
	return scores
}

func theOther(name string) string {
	if name == cluster {
		return otherCluster
	}
	return cluster
}

func checkAffinity(t *testing.T, _ *gateway) {
	t.Helper()
	g := restart(t, nil, band(filter{"gpustack-lb-session-affinity", affinityConfig})...)
	used := map[string]bool{}
	for session := range 8 {
		key := [2]string{"session_id", fmt.Sprint("session", session)}
		model := [2]string{"x-higress-llm-model", "qwen-alias"}
		first := chosen(g, key, model)
		for range 3 {
			assert.Equal(t, first, chosen(g, key, model))
		}
		used[first] = true
	}
	assert.Len(t, used, 2, "not all sessions on one")
}

func checkDecision(t *testing.T, _ *gateway) {
	t.Helper()
	model := [2]string{"x-higress-llm-model", "qwen-alias"}
	opinion := filter{"gpustack-lb-decision-service", decisionConfig}
	g := restart(t, nil, band(opinion)...)
	assert.Empty(t, ranks(g, model), "no verdict, no opinion")
	for favourite, want := range map[string]string{"qwen2.5-7b": cluster, "qwen2.5-72b": otherCluster} {
		g := restart(t, clusters{decisionCluster: {HTTP: verdict(favourite)}}, band(opinion)...)
		for range 5 {
			assert.Equal(t, want, chosen(g, model))
		}
	}
}

// verdict is a decision service that is nearly sure.
func verdict(favourite string) func(wasmhost.HTTPCall) (wasmhost.HTTPAnswer, error) {
	probabilities := map[string]float64{"qwen2.5-7b": 0.1, "qwen2.5-72b": 0.1}
	probabilities[favourite] = 0.9
	body := fmt.Sprintf(`{"answers":{"model_selection":{"type":"choice","choice":%q,"confidence":0.9,"probabilities":{"qwen2.5-7b":%v,"qwen2.5-72b":%v}}}}`,
		favourite, probabilities["qwen2.5-7b"], probabilities["qwen2.5-72b"])
	return func(wasmhost.HTTPCall) (wasmhost.HTTPAnswer, error) {
		return wasmhost.HTTPAnswer{Headers: wasmhost.Headers{{":status", "200"}, {"content-type", "application/json"}}, Body: []byte(body)}, nil
	}
}
