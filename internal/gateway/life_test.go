package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAConnectionStaysWithItsWorkerAndTheNextGetsTheNext(t *testing.T) {
	b := newBench(t, []string{newBackend(t, sayName("a"))})
	for want := range 3 {
		b.client = newClient(t)
		for range 3 {
			b.do(t, http.MethodGet, "")
			assert.Equal(t, want%2, b.log.next(t).Worker)
		}
	}
}

func TestManyConnectionsAndTicksNeverMeetInOneWorker(t *testing.T) {
	b := newBench(t, []string{newBackend(t, sayName("a")), newBackend(t, sayName("b"))},
		func(v *fakeVM) { v.period = time.Millisecond })
	var clients sync.WaitGroup
	for range 8 {
		client := newClient(t)
		clients.Go(func() {
			for range 20 {
				response, err := client.Post(b.URL(), "text/plain", http.NoBody)
				if !assert.NoError(t, err) {
					return
				}
				assert.NoError(t, response.Body.Close())
			}
		})
	}
	clients.Wait()
	states := b.Hosts()
	assert.EqualValues(t, 160, states[0].Placed()+states[1].Placed())
}

func TestEveryVMTicksAtItsPeriodUntilItTraps(t *testing.T) {
	ticked := make(chan struct{}, 3) // two workers and the base VM
	b := newBench(t, []string{"10.0.0.1:1"}, func(v *fakeVM) {
		v.period = time.Millisecond
		ticks := 0
		v.onTick = func() error {
			ticks++
			if ticks < 3 {
				return nil
			}
			assert.Equal(t, 3, ticks, "a trapped VM ticks no more")
			ticked <- struct{}{}
			return errors.New("trapped")
		}
	})
	for range 3 {
		await(t, "the third tick", ticked)
	}
	require.NoError(t, b.Close(t.Context()))
}

func TestCloseWaitsForRequestsInProgress(t *testing.T) {
	arrived, arrive := once()
	finish := make(chan struct{})
	backend := newBackend(t, func(w http.ResponseWriter, _ *http.Request) {
		arrive()
		<-finish
		w.WriteHeader(http.StatusAccepted)
	})
	b := newBench(t, []string{backend})
	result := make(chan int, 1)
	go func() {
		response, err := b.client.Get(b.URL())
		if !assert.NoError(t, err) {
			result <- 0
			return
		}
		_ = response.Body.Close()
		result <- response.StatusCode
	}()
	await(t, "the request", arrived)
	closed := make(chan error, 1)
	go func() { closed <- b.Close(t.Context()) }()
	close(finish)
	assert.Equal(t, http.StatusAccepted, <-result)
	assert.NoError(t, <-closed)
}

func TestCloseCutsOffWhatRemainsWhenItsContextEnds(t *testing.T) {
	stopped, stop := once()
	b := newBench(t, []string{newBackend(t, func(_ http.ResponseWriter, r *http.Request) {
		stop()
		<-r.Context().Done()
	})})
	failed := make(chan error, 1)
	go func() {
		response, err := b.client.Get(b.URL())
		if err == nil {
			_ = response.Body.Close()
		}
		failed <- err
	}()
	await(t, "the request", stopped)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, b.Close(ctx), context.Canceled)
	require.Len(t, b.log.entries, 1, "its stream has ended when Close returns")
	assert.Equal(t, detailsClientLeft, b.log.next(t).Details)
	require.Error(t, <-failed)
}
