package compare

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"time"
)

const (
	model         = "compare-model"
	rate          = 60  // requests per second of many clients, on average
	streamedShare = 0.6 // of the requests, unless the fault says otherwise
	oneByOneMost  = 2000

	// longPromptTokens make a prompt that every healthy endpoint answers as late as a slow
	// one answers a short prompt.
	longPromptTokens = int(slowAnswer / perPromptToken)
)

// request is one of those that the clients send.
type request struct {
	at     time.Duration // when many clients call; one client sends it after the answer before
	stream bool
	tokens int
	long   bool // the prompt
}

// plan decides the requests from the seed: every set-up gets the same ones at the same
// times. Arrivals are a Poisson process, they know nothing of each other.
func plan(fault Fault, timeline Timeline, seed uint64) []request {
	random := rand.New(rand.NewPCG(seed, 0x636f6d70))
	var requests []request
	for at := time.Duration(0); len(requests) < oneByOneMost || !fault.OneByOne; {
		at += time.Duration(random.ExpFloat64() / rate * float64(time.Second))
		if at >= timeline.End && !fault.OneByOne {
			break
		}
		during := at >= timeline.Fault && at < timeline.Heal
		requests = append(requests, request{
			at:     at,
			stream: random.Float64() < fault.streams(),
			tokens: 4 + random.IntN(4),
			long:   random.Float64() < fault.LongPrompts && during,
		})
	}
	return requests
}

const shortPrompt = "What should a gateway do when one of its model servers gets slow?"

// body is the request as the OpenAI interface has it.
func (r request) body(longPrompt string) ([]byte, error) {
	prompt := shortPrompt
	if r.long {
		prompt = longPrompt
	}
	return json.Marshal(map[string]any{
		"model": model, "stream": r.stream, "max_tokens": r.tokens,
		"messages": []any{map[string]string{"role": "user", "content": prompt}},
	})
}

// longPrompt is longPromptTokens long by the rule of thumb of four bytes to a token.
func longPrompt() string { return strings.Repeat("and ", longPromptTokens) }
