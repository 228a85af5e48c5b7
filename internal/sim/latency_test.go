package sim

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

func latencyOf(t *testing.T, text string) Latency {
	t.Helper()
	raw, err := yaml.YAMLToJSONStrict([]byte(text))
	require.NoError(t, err)
	var l Latency
	require.NoError(t, decode(raw, reflect.ValueOf(&l).Elem()))
	require.NoError(t, l.validate())
	return l
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

func TestAnAnswerComesWhenItsStepSays(t *testing.T) {
	const (
		constant = "2s"
		steps    = "[{from: 0s, headers: 1s}, {from: 60s, headers: 90s}, {from: 100s, headers: 1s}]"
		ramp     = "[{from: 0s, headers: 2s, ramp: true}, {from: 100s, headers: 52s}]"
		hang     = "[{from: 0s, hang: true}, {from: 60s, headers: 1s}]"
		stall    = "[{from: 0s, headers: 10s}, {from: 60s, stall: true}, {from: 90s, headers: 1s}]"
		stopped  = "[{from: 0s, headers: 10s}, {from: 60s, stall: true}]"
	)
	for _, c := range []struct {
		name, latency string
		complete      float64
		want          float64 // -1 = never
	}{
		{"constant", constant, 50, 52},
		{"before a step", steps, 59.999, 60.999},
		{"at a step", steps, 60, 150},
		{"after a step", steps, 100, 101},
		{"at the foot of a ramp", ramp, 0, 2},
		{"half way up", ramp, 50, 77},
		{"behind it", ramp, 100, 152},
		{"hanging for good", hang, 59, -1},
		{"behind the hanging", hang, 60, 61},
		{"done before the stall", stall, 49, 59},
		{"caught by the stall with 4s left", stall, 54, 94},
		{"due when the stall begins", stall, 50, 90},
		{"arrived in the stall", stall, 70, 91},
		{"behind the stall", stall, 90, 91},
		{"caught when it stops for good", stopped, 54, -1},
		{"arrived when it has stopped", stopped, 61, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := latencyOf(t, c.latency).answer(seconds(c.complete), newRandom(1, ""))
			assert.Equal(t, c.want < 0, got.Headers == Never)
			if got.Headers != Never {
				assert.Equal(t, seconds(c.want), got.Headers)
				assert.Equal(t, got.Headers, got.Total)
			}
		})
	}
}

func TestTheThreeTimesOfAnAnswer(t *testing.T) {
	l := latencyOf(t, "[{from: 0s, headers: 1s, first_chunk: 5s, total: 20s}, {from: 10s, stall: true}]")
	got := l.answer(seconds(2), newRandom(1, ""))
	assert.Equal(t, seconds(3), got.Headers)
	assert.Equal(t, seconds(7), got.FirstChunk)
	assert.Equal(t, Never, got.Total, "the endpoint stops in the middle of the answer")
}

func TestJitterScalesAnAnswer(t *testing.T) {
	l := latencyOf(t, "[{from: 0s, headers: 10s, jitter: 20%}]")
	random := newRandom(1, "")
	shortest, longest := Never, time.Duration(0)
	for range 1000 {
		took := l.answer(0, random).Headers
		shortest, longest = min(shortest, took), max(longest, took)
	}
	assert.InDelta(t, 8, shortest.Seconds(), 0.1)
	assert.InDelta(t, 12, longest.Seconds(), 0.1)
}

func TestStepsThatRepeatStartOver(t *testing.T) {
	e := NewResponder(Endpoint{
		Repeat:  Duration(seconds(100)),
		Latency: latencyOf(t, "[{from: 0s, headers: 1s}, {from: 60s, headers: 90s, total: 95s}, {from: 80s, hang: true}]"),
	}, 1)
	for complete, want := range map[float64]float64{0: 1, 59: 60, 60: 150, 100: 101, 159: 160, 960: 1050} {
		assert.Equal(t, seconds(want), e.Answer(seconds(complete)).Headers, complete)
	}
	assert.Equal(t, seconds(1055), e.Answer(seconds(960)).Total)
	assert.Equal(t, noAnswer(), e.Answer(seconds(999)))
}
