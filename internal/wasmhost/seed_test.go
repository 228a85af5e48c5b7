package wasmhost

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// logOf runs the same calls under a seed and gives the whole log.
func logOf(t *testing.T, seed uint64) string {
	t.Helper()
	p := startProbe(t, func(o *Options) {
		o.Seed = seed
		o.Workers = 2
		o.Configuration = "random; ticks 100; shared-set tick random"
	})
	for i := range 20 {
		s, err := p.Worker(i % 2).NewStream(testRoute)
		require.NoError(t, err)
		flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-headers", "random; clock"), true))
		require.NoError(t, p.Worker(i%2).Tick())
		p.clock.Advance(1)
		require.NoError(t, s.Close())
	}
	var log []string
	for _, line := range p.heard() {
		log = append(log, line.String())
	}
	return strings.Join(log, "\n")
}

func TestTheSameSeedGivesTheSameLog(t *testing.T) {
	first := logOf(t, 42)
	require.Contains(t, first, "random -> ")
	assert.Equal(t, first, logOf(t, 42))
	assert.NotEqual(t, first, logOf(t, 43))
}

func TestEveryVMHasAStreamOfItsOwn(t *testing.T) {
	p := startProbe(t, func(o *Options) {
		o.Workers = 2
		o.Configuration = "random"
	})
	seen := map[string]bool{}
	for _, result := range p.results() {
		seen[result] = true
	}
	assert.Len(t, seen, 3)
}
