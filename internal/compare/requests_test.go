package compare

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func faultNamed(t *testing.T, name string) Fault {
	t.Helper()
	chosen, err := ChooseFaults(Faults(), []string{name})
	require.NoError(t, err)
	return chosen[0]
}

func TestTheSeedDecidesTheRequests(t *testing.T) {
	slow, hanging := faultNamed(t, "slow"), faultNamed(t, "hanging")
	requests := plan(slow, FullTimeline(), 1)
	assert.Equal(t, requests, plan(slow, FullTimeline(), 1))
	assert.Equal(t, requests, plan(hanging, FullTimeline(), 1), "the same ones under both faults")
	assert.NotEqual(t, requests, plan(slow, FullTimeline(), 2))
}

func TestManyClientsComeAtTheRateAndAskForStreamsAsOftenAsTheFaultSays(t *testing.T) {
	share := func(requests []request, has func(request) bool) float64 {
		n := 0
		for _, r := range requests {
			n += count(has(r))
		}
		return float64(n) / float64(len(requests))
	}
	requests := plan(faultNamed(t, "slow"), FullTimeline(), 1)
	assert.InEpsilon(t, rate*FullTimeline().End.Seconds(), len(requests), 0.1)
	assert.InDelta(t, streamedShare, share(requests, func(r request) bool { return r.stream }), 0.05)
	assert.Zero(t, share(requests, func(r request) bool { return r.long }))
	assert.Less(t, requests[len(requests)-1].at, FullTimeline().End)

	stalled := plan(faultNamed(t, "stall"), FullTimeline(), 1)
	assert.Equal(t, 1.0, share(stalled, func(r request) bool { return r.stream }))
}

func TestLongPromptsComeWhileTheFaultLasts(t *testing.T) {
	during, long := 0, 0
	for _, r := range plan(faultNamed(t, "long-prompts"), FullTimeline(), 1) {
		inFault := r.at >= FullTimeline().Fault && r.at < FullTimeline().Heal
		require.False(t, r.long && !inFault, "at %s", r.at)
		during += count(inFault)
		long += count(r.long)
	}
	assert.InDelta(t, 0.1, float64(long)/float64(during), 0.03)
}

func TestALongPromptTakesAsLongAsASlowEndpoint(t *testing.T) {
	body, err := request{long: true}.body(longPrompt())
	require.NoError(t, err)
	var sent struct {
		Messages []struct{ Content json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(body, &sent))
	tokens := (len(sent.Messages[0].Content) + 3) / 4
	assert.InDelta(t, slowAnswer, time.Duration(tokens)*perPromptToken, float64(10*time.Millisecond))
}

// The client of a set-up that answers all at once must not run out of requests.
func TestOneClientHasMoreRequestsThanItCanSend(t *testing.T) {
	assert.GreaterOrEqual(t, len(plan(faultNamed(t, "one-by-one"), FullTimeline(), 1)), int(FullTimeline().End/(firstToken*3/4)))
}
