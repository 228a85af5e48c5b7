package backend_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/backend"
)

func TestAnAnswerComesAfterItsDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, w := time.Now(), httptest.NewRecorder()
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("hello"))
		backend.After(backend.For(9*time.Second), backend.Echo()).ServeHTTP(w, request)
		assert.Equal(t, 9*time.Second, time.Since(began))
		assert.JSONEq(t, `{"bytes":5,"sha256":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}`, w.Body.String())
	})
}

func TestAClientThatLeavesEndsItsRequest(t *testing.T) {
	handlers := map[string]http.Handler{
		"delay":              backend.After(backend.For(time.Hour), backend.Usual()),
		"hanging":            backend.Hang(),
		"events without one": backend.Events(backend.Until(nil)),
	}
	for version, client := range clients(t) {
		t.Run(version, func(t *testing.T) {
			s := newServer(t)
			for name, handler := range handlers {
				s.Serve(handler)
				ctx, leave := context.WithCancel(t.Context())
				before := s.Count()
				ended := background(ctx, client, s)
				eventually(t, func() bool { return s.Count() == before+1 && s.Requests()[before].BodyEnded }, name)
				assert.False(t, s.Requests()[before].Ended, name)
				leave()
				require.ErrorIs(t, <-ended, context.Canceled, name)
				eventually(t, func() bool { return s.Requests()[before].Ended }, name)
			}
		})
	}
}

func TestEventsSendHeadersBeforeTheFirstOne(t *testing.T) {
	for version, client := range clients(t) {
		t.Run(version, func(t *testing.T) {
			s := newServer(t)
			release := make(chan struct{})
			s.Serve(backend.Events(backend.Until(release)))
			response, err := client.Get("http://" + s.Address())
			require.NoError(t, err)
			assert.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
			close(release)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			assert.Equal(t, "data: 1\n\ndata: 2\n\ndata: 3\n\n", string(body))
		})
	}
}

func TestADroppedRequestGetsNoAnswer(t *testing.T) {
	for version, client := range clients(t) {
		t.Run(version, func(t *testing.T) {
			s := newServer(t)
			s.Serve(backend.Drop())
			_, err := post(t.Context(), client, s, strings.NewReader("hello"))
			require.Error(t, err)
			require.NotEmpty(t, s.Requests(), "it did arrive")
			assert.True(t, s.Requests()[0].BodyEnded)
		})
	}
}

func TestAnAnswerCarriesTheHeadersAsked(t *testing.T) {
	for version, client := range clients(t) {
		t.Run(version, func(t *testing.T) {
			s := newServer(t)
			s.Serve(backend.WithHeader("x-envoy-upstream-service-time", "99999", backend.Status(http.StatusBadGateway)))
			a := mustPost(t, client, s, nil)
			assert.Equal(t, http.StatusBadGateway, a.StatusCode)
			assert.Equal(t, "99999", a.Header.Get("X-Envoy-Upstream-Service-Time"))
			assert.Empty(t, a.body)
		})
	}
}

func TestABodyArrivesWholeHoweverItIsSent(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 5<<20/16)
	uploads := map[string]struct {
		body    func() io.Reader
		headers []string
	}{
		"5 MB":                 {body: func() io.Reader { return bytes.NewReader(large) }},
		"in chunks":            {body: func() io.Reader { return io.MultiReader(bytes.NewReader(large)) }},
		"Expect: 100-continue": {body: func() io.Reader { return bytes.NewReader(large) }, headers: []string{"Expect", "100-continue"}},
	}
	for version, client := range clients(t) {
		for name, upload := range uploads {
			t.Run(version+" "+name, func(t *testing.T) {
				s := newServer(t)
				s.Serve(backend.Echo())
				var got backend.Digest
				require.NoError(t, json.Unmarshal([]byte(mustPost(t, client, s, upload.body(), upload.headers...).body), &got))
				assert.Equal(t, backend.DigestOf(large), got)
				assert.EqualValues(t, len(large), s.Requests()[0].BodyBytes)
			})
		}
	}
}

func TestHEADHasTheUsualHeadersAndNoBody(t *testing.T) {
	for version, client := range clients(t) {
		t.Run(version, func(t *testing.T) {
			s := newServer(t)
			response, err := client.Head("http://" + s.Address())
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, response.StatusCode)
			assert.Equal(t, http.MethodHead, s.Requests()[0].Method)
		})
	}
}
