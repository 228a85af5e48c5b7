package httpserver_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"endpoint-breaker/internal/httpserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient speaks one protocol only.
func newClient(t *testing.T, set func(*http.Protocols, bool)) *http.Client {
	t.Helper()
	var p http.Protocols
	set(&p, true)
	transport := &http.Transport{Protocols: &p}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func protocols() map[string]func(*http.Protocols, bool) {
	return map[string]func(*http.Protocols, bool){
		"HTTP/1.1": (*http.Protocols).SetHTTP1,
		"HTTP/2.0": (*http.Protocols).SetUnencryptedHTTP2,
	}
}

func TestOnePortServesBothVersionsOfHTTP(t *testing.T) {
	s, err := httpserver.Listen(t.Context(), "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}))
	require.NoError(t, err)
	for version, set := range protocols() {
		response, err := newClient(t, set).Get("http://" + s.Address())
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, version, string(body))
	}
	require.NoError(t, s.Close())
}

func TestCloseCutsOffRequestsThatWaitAndReturnsAfterTheirHandlers(t *testing.T) {
	for version, set := range protocols() {
		t.Run(version, func(t *testing.T) {
			waiting, returned := make(chan struct{}), false
			s, err := httpserver.Listen(t.Context(), "127.0.0.1:0", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				close(waiting)
				<-r.Context().Done()
				returned = true
			}))
			require.NoError(t, err)
			failed := make(chan error)
			go func() {
				response, err := newClient(t, set).Get("http://" + s.Address())
				if err == nil {
					_ = response.Body.Close()
				}
				failed <- err
			}()

			<-waiting
			require.NoError(t, s.Close())
			assert.True(t, returned)
			require.Error(t, <-failed, "nobody got an answer")
			require.NoError(t, s.Close(), "a second call does no harm")
		})
	}
}

func TestCloseAlsoEndsAConnectionThatAHandlerTookOver(t *testing.T) {
	taken := make(chan struct{})
	s, err := httpserver.Listen(t.Context(), "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if assert.NoError(t, err) {
			defer func() { _ = connection.Close() }()
		}
		close(taken)
		<-r.Context().Done()
	}))
	require.NoError(t, err)
	failed := make(chan error)
	go func() {
		_, err := newClient(t, (*http.Protocols).SetHTTP1).Get("http://" + s.Address())
		failed <- err
	}()

	<-taken
	require.NoError(t, s.Close())
	require.Error(t, <-failed)
}

func TestTheStartingContextEndsNoRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := httpserver.Listen(ctx, "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.NoError(t, r.Context().Err())
		w.WriteHeader(http.StatusNoContent)
	}))
	require.NoError(t, err)
	cancel()
	response, err := newClient(t, (*http.Protocols).SetHTTP1).Get("http://" + s.Address())
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusNoContent, response.StatusCode)
	require.NoError(t, s.Close())
}

func TestATakenPortIsAnErrorThatNamesIt(t *testing.T) {
	first, err := httpserver.Listen(t.Context(), "127.0.0.1:0", http.NotFoundHandler())
	require.NoError(t, err)
	_, err = httpserver.Listen(t.Context(), first.Address(), http.NotFoundHandler())
	require.ErrorContains(t, err, first.Address())
	require.NoError(t, first.Close())
}
