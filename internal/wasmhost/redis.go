package wasmhost

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/tidwall/resp"
)

// RedisLogin is what a plugin has said by proxy_redis_init; the zero value when
// it has said nothing.
type RedisLogin struct {
	Username, Password string        // "" = none
	Database           int           // selected after the login, 0 = the server's own
	Timeout            time.Duration // of one command; 0 = redisTimeout
}

// redisTimeout is the limit for a command when the plugin gives none.
const redisTimeout = time.Second

// RedisClient is one worker's connection to a cluster of Redis servers.
type RedisClient interface {
	// Do sends one command in the Redis protocol and returns the reply as it came.
	// An error means that there is none. It runs on the worker's goroutine.
	Do(command []byte) (reply []byte, err error)
	// Close ends the connection. No Do follows.
	Close() error
}

// RedisServer makes clients of the server at an address, host:port. Each
// connects when it is first needed, and again after an error. It waits in real
// time, whatever clock the plugin has.
func RedisServer(address string) func(RedisLogin) RedisClient {
	return func(login RedisLogin) RedisClient {
		if login.Timeout <= 0 {
			login.Timeout = redisTimeout
		}
		return &redisConnection{address: address, login: login}
	}
}

type redisConnection struct {
	address string
	login   RedisLogin
	conn    net.Conn // nil while there is none
}

// Do implements RedisClient.
func (r *redisConnection) Do(command []byte) ([]byte, error) {
	if err := r.connect(); err != nil {
		return nil, err
	}
	reply, err := r.roundTrip(command)
	if err != nil {
		_ = r.Close() // what is left on the connection fits no command
		return nil, fmt.Errorf("redis at %s: %w", r.address, err)
	}
	return reply, nil
}

// Close implements RedisClient.
func (r *redisConnection) Close() error {
	if r.conn == nil {
		return nil
	}
	err := r.conn.Close()
	r.conn = nil
	return err
}

// connect logs in and selects the database. A server that refuses either says so
// to every command that follows, as it does behind Envoy, which does not look at
// these replies.
func (r *redisConnection) connect() error {
	if r.conn != nil {
		return nil
	}
	dialer := net.Dialer{Timeout: r.login.Timeout}
	conn, err := dialer.DialContext(context.Background(), "tcp", r.address)
	if err != nil {
		return err
	}
	r.conn = conn
	for _, command := range r.login.commands() {
		if _, err := r.roundTrip(command); err != nil {
			_ = r.Close()
			return fmt.Errorf("log in to redis at %s: %w", r.address, err)
		}
	}
	return nil
}

// commands are those that come first on a connection.
func (l RedisLogin) commands() [][]byte {
	var commands [][]byte
	switch {
	case l.Username != "":
		commands = append(commands, redisCommand("AUTH", l.Username, l.Password))
	case l.Password != "":
		commands = append(commands, redisCommand("AUTH", l.Password))
	}
	if l.Database != 0 {
		commands = append(commands, redisCommand("SELECT", strconv.Itoa(l.Database)))
	}
	return commands
}

func redisCommand(words ...string) []byte {
	values := make([]resp.Value, len(words))
	for i, word := range words {
		values[i] = resp.StringValue(word)
	}
	command, err := resp.ArrayValue(values).MarshalRESP()
	if err != nil {
		panic(err) // strings always marshal
	}
	return command
}

// roundTrip reads exactly one reply and keeps its bytes as they came: nothing
// else is on its way, so the reader takes no byte too many.
func (r *redisConnection) roundTrip(command []byte) ([]byte, error) {
	if err := r.conn.SetDeadline(time.Now().Add(r.login.Timeout)); err != nil {
		return nil, err
	}
	if _, err := r.conn.Write(command); err != nil {
		return nil, err
	}
	var reply bytes.Buffer
	if _, _, err := resp.NewReader(io.TeeReader(r.conn, &reply)).ReadValue(); err != nil {
		return nil, err
	}
	return reply.Bytes(), nil
}
