package wasmhost

import (
	"bufio"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/wasmhost/redistest"
)

const redisName = "redis" // scripts are parted at "|", so it is a short one

// withRedis lets the probe reach a Redis server under redisName.
func withRedis(address string) func(*Options) {
	return func(o *Options) {
		o.Clusters = map[string]Cluster{redisName: {Redis: RedisServer(address)}}
	}
}

// askRedis runs commands against a server, past any plugin.
func askRedis(t *testing.T, address string, login RedisLogin, commands ...string) []string {
	t.Helper()
	client := RedisServer(address)(login)
	defer func() { require.NoError(t, client.Close()) }()
	var replies []string
	for _, command := range commands {
		reply, err := client.Do([]byte(command + "\r\n"))
		require.NoError(t, err)
		replies = append(replies, string(reply))
	}
	return replies
}

func TestARedisCommandGoesOutAtOnceAndItsReplyComesWithDeliver(t *testing.T) {
	address := redistest.Start(t)
	p := startProbe(t, withRedis(address))
	p.answerScript("redis-reply")
	assert.Equal(t, []string{"ok", "ok"}, p.run("redis-init "+redisName+"; redis-call "+redisName+" INCR n"))
	assert.Equal(t, []string{"$1\r\n1\r\n"}, askRedis(t, address, RedisLogin{}, "GET n"))
	assert.Equal(t, 1, p.Worker(0).Pending())
	p.said()
	require.NoError(t, p.Worker(0).Deliver())
	assert.Zero(t, p.Worker(0).Pending())
	assert.Empty(t, p.said(), "the stream that asked has gone: the SDK drops the answer")
}

func TestARedisReplyReachesTheStreamThatAskedAsItCame(t *testing.T) {
	address := redistest.Start(t)
	askRedis(t, address, RedisLogin{}, "RPUSH list one two", "SET text hello")
	for command, want := range map[string]string{
		"PING":             "+PONG\r\n",
		"GET text":         "$5\r\nhello\r\n",
		"GET absent":       "$-1\r\n",
		"LLEN list":        ":2\r\n",
		"LRANGE list 0 -1": "*2\r\n$3\r\none\r\n$3\r\ntwo\r\n",
		"LRANGE none 0 -1": "*0\r\n",
		"INCR text":        "-ERR value is not an integer or out of range\r\n",
	} {
		t.Run(command, func(t *testing.T) {
			p := startProbe(t, withRedis(address))
			p.answerScript("redis-reply; continue request")
			s := p.open()
			defer closeStreamOf(t, s)
			flowOf(t, FlowStopped)(s.RequestHeaders(request("do-request-headers", "redis-call "+redisName+" "+command+"; return 1"), true))
			p.said()
			require.NoError(t, p.Worker(0).Deliver())
			assert.True(t, s.Released())
			assert.Equal(t, []string{want, "ok"}, p.results())
		})
	}
}

func TestPasswordAndDatabaseOfTheInitAreUsed(t *testing.T) {
	address := redistest.Start(t, "--requirepass", "secret")
	p := startProbe(t, withRedis(address), func(o *Options) {
		o.Configuration = "redis-init " + redisName + "?db=3&buffer_flush_timeout=3 - secret"
	})
	p.run("redis-call " + redisName + " SET k v")
	three := askRedis(t, address, RedisLogin{Password: "secret", Database: 3}, "GET k")
	zero := askRedis(t, address, RedisLogin{Password: "secret"}, "GET k")
	assert.Equal(t, []string{"$1\r\nv\r\n", "$-1\r\n"}, append(three, zero...))
}

func TestAUserOfTheInitLogsIn(t *testing.T) {
	address := redistest.Start(t, "--user", "ann", "on", ">secret", "~*", "+@all", "--user", "default", "off")
	p := startProbe(t, withRedis(address), func(o *Options) { o.Configuration = "redis-init " + redisName + " ann secret" })
	p.run("redis-call " + redisName + " SET k v")
	assert.Equal(t, []string{"$1\r\nv\r\n"}, askRedis(t, address, RedisLogin{Username: "ann", Password: "secret"}, "GET k"))
}

func TestAWrongPasswordIsToldByEveryCommand(t *testing.T) {
	address := redistest.Start(t, "--requirepass", "secret")
	p := startProbe(t, withRedis(address), func(o *Options) { o.Configuration = "redis-init " + redisName + " - wrong" })
	assert.Equal(t, []string{"redis answer status=0 size=34", "-NOAUTH Authentication required.\r\n"}, p.askedOf("redis-call "+redisName+" PING", "redis-reply"))
}

func TestARedisServerThatIsNotThereIsANetworkError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	for name, cluster := range map[string]Cluster{"refused": {}, "nobody listens": {Redis: RedisServer(listener.Addr().String())}} {
		t.Run(name, func(t *testing.T) {
			p := startProbe(t, func(o *Options) { o.Clusters = map[string]Cluster{redisName: cluster} })
			assert.Equal(t, []string{"ok"}, p.run("redis-init "+redisName))
			assert.Equal(t, []string{"redis answer status=1 size=0", "error: not found", "9 reset"}, p.askedOf("redis-call "+redisName+" PING", "redis-reply; status"))
		})
	}
}

// A server that takes commands and says nothing, then half a reply.
func TestARedisServerThatAnswersTooLateIsANetworkErrorAndConnectedToAgain(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for _, reply := range []string{"", "$5\r\nhe", "+PONG\r\n"} {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			reader := bufio.NewReader(conn)
			_, _ = reader.ReadString('\n')
			_, _ = conn.Write([]byte(reply))
			_, _ = reader.ReadByte() // until the client gives up
			_ = conn.Close()
		}
	}()
	client := RedisServer(listener.Addr().String())(RedisLogin{Timeout: 50 * time.Millisecond})
	for range 2 {
		_, err := client.Do([]byte("PING\r\n"))
		require.ErrorContains(t, err, listener.Addr().String())
	}
	reply, err := client.Do([]byte("PING\r\n"))
	require.NoError(t, err)
	assert.Equal(t, "+PONG\r\n", string(reply))
	require.NoError(t, client.Close())
	require.NoError(t, listener.Close())
	<-served
}

func TestANewInitReplacesTheConnection(t *testing.T) {
	opened, closed := 0, 0
	p := startProbe(t, func(o *Options) {
		o.Clusters = map[string]Cluster{redisName: {Redis: func(RedisLogin) RedisClient {
			opened++
			return closeCounter{&closed}
		}}}
	})
	p.run("redis-call " + redisName + " PING; redis-init " + redisName + "; redis-call " + redisName + " PING")
	assert.Equal(t, []int{2, 1}, []int{opened, closed})
}

type closeCounter struct{ closed *int }

func (closeCounter) Do([]byte) ([]byte, error) { return []byte("+OK\r\n"), nil }

func (c closeCounter) Close() error {
	*c.closed++
	return nil
}
