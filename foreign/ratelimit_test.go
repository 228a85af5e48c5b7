package foreign

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/wasmhost"
	"endpoint-breaker/internal/wasmhost/redistest"
)

// limited is a gateway with the rate limit over a Redis server. Gateways of one seed draw the same
// random names for their requests, so those that share a server must differ.
func limited(t *testing.T, address string, seed uint64) *gateway {
	t.Helper()
	return startSeeded(t, seed, clusters{redisCluster: {Redis: wasmhost.RedisServer(address)}}, filter{"gpustack-rate-limit", rateLimitConfig})
}

func ask(g *gateway, user string) outcome {
	g.t.Helper()
	return g.send(chat(question, [2]string{"x-user", user}), completion())
}

const annsKey = "rule|user|header:x-user=ann|q:60s"

func TestTheRateLimitLimitsOverRedis(t *testing.T) {
	address := redistest.Start(t)
	g := limited(t, address, 1)
	for range 3 {
		require.Equal(t, "200", ask(g, "ann").status)
	}
	denied := ask(g, "ann")
	assert.Equal(t, "429", denied.status)
	assert.False(t, denied.Released(), "it never reaches the router")
	assert.Contains(t, denied.responseBody, "rate_limit_exceeded")
	assert.Equal(t, annsKey, header(denied.ResponseHeadersNow(), "x-ratelimit-limited-key"))
	assert.Equal(t, "200", ask(g, "bob").status, "each user has a limit of his own")
	assert.Equal(t, "200", g.send(get(), list()).status, "another path has none")

	assert.Equal(t, ":3\r\n", redis(t, address, "ZCARD "+annsKey), "the counters are in the server, in the database of the configuration")
	assert.EqualValues(t, 1, g.metric(0, "rejected_total"))

	g.clock.Advance(61 * time.Second)
	assert.Equal(t, "200", ask(g, "ann").status, "the window has passed, in virtual time")
	g.requireNoTrap()
}

func TestTwoGatewaysShareTheirLimitThroughRedis(t *testing.T) {
	address := redistest.Start(t)
	one, two := limited(t, address, 1), limited(t, address, 2)
	for i, g := range []*gateway{one, two, one} {
		require.Equal(t, "200", ask(g, "ann").status, i)
	}
	assert.Equal(t, "429", ask(two, "ann").status)
	assert.Equal(t, "429", ask(one, "ann").status)
}

func redis(t *testing.T, address, command string) string {
	t.Helper()
	client := wasmhost.RedisServer(address)(wasmhost.RedisLogin{Database: 2})
	defer func() { require.NoError(t, client.Close()) }()
	reply, err := client.Do([]byte(strings.TrimSpace(command) + "\r\n"))
	require.NoError(t, err)
	return string(reply)
}
