package backend_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"endpoint-breaker/internal/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newServer(t *testing.T) *backend.Server {
	t.Helper()
	s, err := backend.Start(t.Context(), backend.Options{Name: "a"})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Stop()) })
	return s
}

// clients are one for each version of HTTP.
func clients(t *testing.T) map[string]*http.Client {
	t.Helper()
	made := make(map[string]*http.Client)
	for version, set := range map[string]func(*http.Protocols, bool){
		"HTTP/1.1": (*http.Protocols).SetHTTP1,
		"HTTP/2.0": (*http.Protocols).SetUnencryptedHTTP2,
	} {
		var p http.Protocols
		set(&p, true)
		transport := &http.Transport{Protocols: &p, ExpectContinueTimeout: time.Minute}
		t.Cleanup(transport.CloseIdleConnections)
		made[version] = &http.Client{Transport: transport}
	}
	return made
}

type answer struct {
	*http.Response
	body string
}

// post sends the body; a reader of unknown length goes out in chunks.
func post(ctx context.Context, client *http.Client, s *backend.Server, body io.Reader, headers ...string) (*answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.Address()+"/v1/x?y=1", body)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return &answer{Response: response, body: string(text)}, err
}

func mustPost(t *testing.T, client *http.Client, s *backend.Server, body io.Reader, headers ...string) *answer {
	t.Helper()
	a, err := post(t.Context(), client, s, body, headers...)
	require.NoError(t, err)
	return a
}

// background posts "hello" and tells how it ended.
func background(ctx context.Context, client *http.Client, s *backend.Server) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := post(ctx, client, s, strings.NewReader("hello"))
		ended <- err
	}()
	return ended
}

// eventually waits for something that must come.
func eventually(t *testing.T, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, 30*time.Second, 5*time.Millisecond, what)
}
