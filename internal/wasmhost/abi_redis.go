package wasmhost

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// What proxy_on_redis_call_response says about the connection (RedisStatus of
// Higress's proxy-wasm-cpp-host).
const (
	redisOK           = 0
	redisNetworkError = 1
)

func redisFunctions() []hostFunction {
	return []hostFunction{
		{"proxy_redis_init", []kind{text, text, text, number}, redisInit},
		{"proxy_redis_call", []kind{text, text, out}, redisCall},
	}
}

// redisInit sets how the worker logs in to a cluster, and ends the connection
// that it had. Nothing is sent, so it succeeds whether or not a server is there.
func redisInit(c *call) Status {
	name, query := redisCluster(c.text(0))
	cluster, known := c.worker.plugin.options.Clusters[name]
	if !known {
		return StatusBadArgument
	}
	login := RedisLogin{
		Username: c.text(1), Password: c.text(2),
		Timeout: time.Duration(c.number(3)) * time.Millisecond,
	}
	if values, err := url.ParseQuery(query); err == nil {
		login.Database, _ = strconv.Atoi(values.Get("db")) // what is no number is no option
	}
	c.worker.useRedis(name, cluster.openRedis(login))
	return StatusOK
}

// redisCall sends a command, encoded by the guest, at once. The reply waits for
// the next Deliver.
func redisCall(c *call) Status {
	name, _ := redisCluster(c.text(0))
	cluster, known := c.worker.plugin.options.Clusters[name]
	if !known {
		return StatusBadArgument
	}
	client := c.worker.redis[name]
	if client == nil {
		client = cluster.openRedis(RedisLogin{})
		c.worker.useRedis(name, client)
	}
	reply, err := client.Do(c.bytes(1))
	if err != nil {
		token := c.worker.expect(answer{callback: onRedisCallResponse, code: brokenConnection, message: "reset"}, redisNetworkError, 0)
		return c.put(2, token)
	}
	token := c.worker.expect(answer{callback: onRedisCallResponse, redis: reply}, redisOK, uint64(len(reply)))
	return c.put(2, token)
}

// redisCluster splits the options off a cluster's name.
func redisCluster(text string) (name, options string) {
	name, options, _ = strings.Cut(text, "?")
	return name, options
}

// useRedis replaces the worker's connection to a cluster.
func (w *Worker) useRedis(name string, client RedisClient) {
	if before := w.redis[name]; before != nil {
		_ = before.Close() // nothing is on its way: replies are read at once
	}
	w.redis[name] = client
}

func (w *Worker) closeRedis() {
	for _, client := range w.redis {
		_ = client.Close() // likewise
	}
	clear(w.redis)
}
