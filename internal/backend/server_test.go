package backend_test

import (
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/backend"
)

func TestEveryRequestIsRecordedAsItCame(t *testing.T) {
	for version, client := range clients(t) {
		t.Run(version, func(t *testing.T) {
			s := newServer(t)
			before := time.Now()
			a := mustPost(t, client, s, strings.NewReader("hello"), "X-Test", "1")
			after := time.Now()

			assert.Equal(t, "ok", a.body)
			assert.Equal(t, "a", a.Header.Get(backend.ServedByHeader))
			eventually(t, func() bool { return s.Requests()[0].Ended }, "the handler's return")
			require.Equal(t, 1, s.Count())
			r := s.Requests()[0]
			assert.Equal(t, a.Proto, r.Proto)
			assert.Equal(t, http.MethodPost, r.Method)
			assert.Equal(t, s.Address(), r.Host)
			assert.Equal(t, "/v1/x?y=1", r.Path)
			assert.Equal(t, "1", r.Header.Get("x-test"))
			assert.EqualValues(t, 5, r.BodyBytes)
			assert.True(t, r.BodyEnded)

			assert.Equal(t, 1, s.CountBetween(before, after))
			assert.Equal(t, 1, s.CountBetween(r.Arrived, r.Arrived.Add(1)), "from is inside")
			assert.Zero(t, s.CountBetween(before, r.Arrived), "to is outside")
		})
	}
}

func TestABodyThatHasNotEndedShowsInTheRecord(t *testing.T) {
	for version, client := range clients(t) {
		t.Run(version, func(t *testing.T) {
			s := newServer(t)
			body, upload := net.Pipe()
			ended := make(chan error, 1)
			go func() {
				_, err := post(t.Context(), client, s, body)
				ended <- err
			}()
			_, err := upload.Write([]byte("hello"))
			require.NoError(t, err)
			eventually(t, func() bool { return s.Count() == 1 && s.Requests()[0].BodyBytes == 5 }, "the first part")
			assert.False(t, s.Requests()[0].BodyEnded)
			assert.False(t, s.Requests()[0].Ended)

			require.NoError(t, upload.Close())
			require.NoError(t, <-ended)
			assert.True(t, s.Requests()[0].BodyEnded)
		})
	}
}

func TestServeConcernsTheRequestsThatArriveLater(t *testing.T) {
	for version, client := range clients(t) {
		t.Run(version, func(t *testing.T) {
			s := newServer(t)
			release := make(chan struct{})
			s.Serve(backend.After(backend.Until(release), backend.Usual()))
			first := background(t.Context(), client, s)
			eventually(t, func() bool { return s.Count() == 1 }, "the first request")
			s.Serve(backend.Status(http.StatusTeapot))

			assert.Equal(t, http.StatusTeapot, mustPost(t, client, s, nil).StatusCode)
			assert.Empty(t, first)
			close(release)
			require.NoError(t, <-first)
		})
	}
}

func TestAStoppedServerRefusesConnectionsUntilItsRestart(t *testing.T) {
	for version, client := range clients(t) {
		t.Run(version, func(t *testing.T) {
			s := newServer(t)
			address := s.Address()
			s.Serve(backend.Hang())
			hanging := background(t.Context(), client, s)
			eventually(t, func() bool { return s.Count() == 1 }, "the request")

			require.NoError(t, s.Stop())
			require.Error(t, <-hanging, "a stop cuts off what hangs")
			assert.True(t, s.Requests()[0].Ended)
			require.NoError(t, s.Stop(), "a second call does no harm")
			_, err := post(t.Context(), client, s, nil)
			require.ErrorIs(t, err, syscall.ECONNREFUSED)

			s.Serve(backend.Usual())
			require.NoError(t, s.Restart(t.Context()))
			require.NoError(t, s.Restart(t.Context()), "a server that runs is left as it is")
			assert.Equal(t, address, s.Address())
			assert.Equal(t, "ok", mustPost(t, client, s, nil).body)
			assert.Equal(t, 2, s.Count(), "what was recorded stays")
		})
	}
}

func TestAServerCanListenOnIPv6(t *testing.T) {
	probe, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	require.NoError(t, probe.Close())
	s, err := backend.Start(t.Context(), backend.Options{Name: "six", IPv6: true})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Stop()) })

	assert.Regexp(t, `^\[::1\]:[0-9]+$`, s.Address())
	assert.Equal(t, "six", mustPost(t, clients(t)["HTTP/1.1"], s, nil).Header.Get(backend.ServedByHeader))
}
