package shipped

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"endpoint-breaker/internal/blocklist"
	"endpoint-breaker/internal/wasmhost"
)

// B18: keys cannot be deleted, and pods come and go. (envoy 28339, proxy-wasm/spec 32)
func TestCaseB18StateDoesNotGrowWithTheAddresses(t *testing.T) {
	if testing.Short() {
		t.Skip("sends fifty thousand requests")
	}
	for _, test := range []struct {
		name      string
		addresses int
		hours     float64
		slow      int    // every so many-th address
		evidence  string // where it is kept
	}{
		{"20,000 addresses in a day", 20_000, 24, 10, "worker"},
		{"10,000 addresses in an hour", 10_000, 1, 50, "shared"},
	} {
		t.Run(test.name, func(t *testing.T) {
			// What keeps something for each endpoint is on.
			w := start(t, fmt.Sprintf(`{"confirm_count": 2, "check_interval": "0s", "slow_threshold": "10s", "block_ttl": "5s",
				"min_slow_percent": 10, "min_slow_requests": 1, "evidence": %q, "pick": "least_request"}`, test.evidence), 2)
			lifetime := test.hours * 3600 / float64(test.addresses)
			largest, soon := 0, uint64(0)
			var things []at
			for i := range test.addresses {
				address := fmt.Sprintf("10.%d.%d.%d:8000", i>>16, i>>8&255, i&255)
				appears := float64(i) * lifetime
				things = append(things, at{appears, func() {
					w.hosts = append(w.hosts, wasmhost.Host{Address: address, Health: "Healthy"})
					w.hosts = w.hosts[max(0, len(w.hosts)-50):]
					w.send(i % 2).on(address).answer()
					value, _, _ := w.plugin.SharedData().Get(blocklist.Key)
					largest = max(largest, len(value))
					if i == test.addresses/4 {
						soon = w.plugin.Worker(0).MemoryBytes()
					}
				}})
				if i%test.slow == 0 { // it turns slow
					var first, second *call
					things = append(things,
						at{appears, func() { first, second = w.send(0).on(address), w.send(0).on(address) }},
						at{appears + 10.1, func() { first.answer() }},
						at{appears + 16, func() { second.answer() }})
				}
			}
			w.happens(things...)
			end := w.plugin.Worker(0).MemoryBytes()
			t.Logf("blocklist at most %d bytes, VM %d MiB after a quarter and %d at the end", largest, soon>>20, end>>20)
			assert.LessOrEqual(t, len(w.plugin.SharedData().Keys()), 2)
			assert.Less(t, largest, 16<<10)
			assert.LessOrEqual(t, end, soon+4<<20)
			assert.EqualValues(t, test.addresses/test.slow, w.metric("blocks_enforced"))
			assert.Zero(t, w.total("shared_data_damaged")+w.total("host_call_errors")+w.total("panics"))
		})
	}
}

// on says which host has the request, whatever was chosen.
func (c *call) on(address string) *call {
	c.SetUpstream(address, 1)
	return c
}
