package gateway

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/wasmhost"
)

func TestRequestAndResponseStreamAtTheSameTime(t *testing.T) {
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		_ = rc.EnableFullDuplex()
		_ = rc.Flush()
		lines := bufio.NewScanner(r.Body)
		for lines.Scan() {
			_, _ = fmt.Fprintf(w, "echo %s\n", lines.Text())
			_ = rc.Flush()
		}
	})
	b := newBench(t, []string{backend})
	reader, writer := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL(), reader)
	require.NoError(t, err)
	response, err := b.client.Do(request)
	require.NoError(t, err)

	answers := bufio.NewReader(response.Body)
	for i := range 5 {
		_, err := fmt.Fprintf(writer, "%d\n", i)
		require.NoError(t, err)
		line, err := answers.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("echo %d\n", i), line)
	}
	require.NoError(t, writer.Close())
	_, err = answers.ReadString('\n')
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, response.Body.Close())
}

func TestEveryServerSentEventArrivesBeforeTheNextIsSent(t *testing.T) {
	read := make(chan struct{})
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		rc := http.NewResponseController(w)
		_ = rc.Flush()
		for i := range 4 {
			select {
			case <-read:
			case <-r.Context().Done():
				return
			}
			_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
			_ = rc.Flush()
		}
	})
	b := newBench(t, []string{backend})
	response, err := b.client.Get(b.URL())
	require.NoError(t, err)
	assert.Equal(t, "text/event-stream", response.Header.Get("Content-Type"), "headers come before any event")

	events := bufio.NewReader(response.Body)
	for i := range 4 {
		read <- struct{}{}
		line, err := events.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("data: %d\n", i), line)
		_, err = events.ReadString('\n')
		require.NoError(t, err)
	}
	require.NoError(t, response.Body.Close())
}

func TestLargeBodiesPassBothWaysUnchanged(t *testing.T) {
	body := make([]byte, 5<<20)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range body {
		body[i] = byte(random.Uint32())
	}
	backend := newBackend(t, echo)
	for name, reader := range map[string]io.Reader{
		"with a length": bytes.NewReader(body),
		"in chunks":     io.MultiReader(bytes.NewReader(body)),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, []string{backend})
			response, err := b.client.Post(b.URL(), "application/octet-stream", reader)
			require.NoError(t, err)
			answer, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			assert.Equal(t, sha256.Sum256(body), sha256.Sum256(answer))
		})
	}
}

func TestResponsesWithoutABodyKeepTheirHeaders(t *testing.T) {
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", `"1"`)
		switch r.Method {
		case http.MethodHead:
			w.Header().Set("Content-Length", "1234")
		case http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		case http.MethodGet:
			w.WriteHeader(http.StatusNotModified)
		case http.MethodPut:
			w.Header().Set("Content-Length", "0")
		}
	})
	b := newBench(t, []string{backend})
	for method, want := range map[string]struct {
		status int
		length int64
	}{
		http.MethodHead:   {http.StatusOK, 1234},
		http.MethodDelete: {http.StatusNoContent, 0},
		http.MethodGet:    {http.StatusNotModified, 0},
		http.MethodPut:    {http.StatusOK, 0},
	} {
		t.Run(method, func(t *testing.T) {
			response, body := b.do(t, method, "")
			assert.Equal(t, want.status, response.StatusCode)
			assert.Equal(t, want.length, response.ContentLength)
			assert.Equal(t, `"1"`, response.Header.Get("Etag"))
			assert.Empty(t, body)
		})
	}
}

func TestTrailersPassBothWays(t *testing.T) {
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "got "+r.Trailer.Get("X-Sum"))
		_ = http.NewResponseController(w).Flush() // else there is a length, and no trailer
		w.Header().Set(http.TrailerPrefix+"X-Cost", "7")
	})
	b := newBench(t, []string{backend})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL(), io.MultiReader(strings.NewReader("body")))
	require.NoError(t, err)
	request.Trailer = http.Header{"X-Sum": {"42"}}
	response, err := b.client.Do(request)
	require.NoError(t, err)
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, "got 42", string(answer))
	assert.Equal(t, "7", response.Trailer.Get("X-Cost"))
}

func TestAClientThatLeavesEndsTheUpstreamRequest(t *testing.T) {
	for name, body := range map[string]string{"without a body": "", "with a body": "hello"} {
		t.Run(name, func(t *testing.T) {
			arrived, arrive := once()
			ended, end := once()
			backend := newBackend(t, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				arrive()
				<-r.Context().Done()
				end()
			})
			b := newBench(t, []string{backend})
			ctx, leave := context.WithCancel(t.Context())
			go func() {
				<-arrived
				leave()
			}()
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL(), strings.NewReader(body))
			require.NoError(t, err)
			response, err := b.client.Do(request)
			if err == nil {
				_ = response.Body.Close()
			}
			require.ErrorIs(t, err, context.Canceled)
			await(t, "the end of the upstream request", ended)

			entry := b.log.next(t)
			assert.Equal(t, detailsClientLeft, entry.Details)
			assert.EqualValues(t, flagDownstreamTermination, entry.Flags)
			assert.Equal(t, backend, entry.Host)
		})
	}
}

func TestAClientThatLeavesInTheMiddleOfItsUploadEndsTheUpstreamRequest(t *testing.T) {
	arrived, arrive := once()
	ended, end := once()
	backend := newBackend(t, func(_ http.ResponseWriter, r *http.Request) {
		buffer := make([]byte, 1)
		_, _ = r.Body.Read(buffer)
		arrive()
		_, _ = io.Copy(io.Discard, r.Body)
		end()
	})
	b := newBench(t, []string{backend})
	ctx, leave := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	go func() {
		_, _ = writer.Write([]byte("a"))
		<-arrived
		leave()
		_ = writer.Close()
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL(), reader)
	require.NoError(t, err)
	response, err := b.client.Do(request)
	if err == nil {
		_ = response.Body.Close()
	}
	require.ErrorIs(t, err, context.Canceled)
	await(t, "the end of the upstream request", ended)
	assert.Equal(t, detailsClientLeft, b.log.next(t).Details)
}

// upload opens a connection and sends the beginning of a chunked request.
func upload(t *testing.T, b *bench, beginning string) net.Conn {
	t.Helper()
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(b.URL(), "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	_, err = io.WriteString(connection, "POST / HTTP/1.1\r\nHost: gateway\r\nTransfer-Encoding: chunked\r\n\r\n"+beginning)
	require.NoError(t, err)
	return connection
}

func TestAResponseBeforeTheEndOfTheUploadEndsTheExchange(t *testing.T) {
	b := newBench(t, []string{newBackend(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	})})
	connection := upload(t, b, "1\r\na\r\n")
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
	assert.Equal(t, detailsViaUpstream, b.log.next(t).Details)
}

func TestABodyThatIsNoHTTPEndsTheExchangeEvenWhenThePluginHoldsIt(t *testing.T) {
	b := newBench(t, []string{newBackend(t, sayName("a"))}, pluginIs(fakePlugin{
		requestHeaders: stopHeaders,
		requestData:    func(*fakeStream, []byte, bool) wasmhost.Flow { return wasmhost.FlowStopped },
	}))
	upload(t, b, "no chunk size\r\n")
	entry := b.log.next(t)
	assert.Equal(t, detailsClientLeft, entry.Details)
	assert.Empty(t, entry.Host)
}
