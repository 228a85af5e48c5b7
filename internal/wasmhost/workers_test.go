package wasmhost

import (
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Run it with the race detector.
func TestWorkersRunAtOnceAndLoseNoUpdate(t *testing.T) {
	const workers, streams = 4, 25
	p := startProbe(t, func(o *Options) {
		o.Workers = workers
		o.Configuration = "ticks 100; metric-define counter n; shared-set tick shared-add 0"
		o.Faults = NewFaults()
	})
	if status := p.SharedData().Set("count", []byte("0"), 0); status != StatusOK {
		t.Fatal(status)
	}
	p.tickScript("metric-increment n 1")
	var group sync.WaitGroup
	start := make(chan struct{})
	for i := range workers {
		group.Go(func() {
			<-start
			for range streams {
				if err := driveOne(p.Worker(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	close(start)
	group.Wait()
	count, _, _ := p.SharedData().Get("count")
	assert.Equal(t, strconv.Itoa(workers*streams), string(count))
	assert.Equal(t, int64(workers*streams), p.Metric("n"))
}

// driveOne may run on any goroutine, so it returns what went wrong.
func driveOne(w *Worker) error {
	s, err := w.NewStream(testRoute)
	if err != nil {
		return err
	}
	_, headers := s.RequestHeaders(request("do-request-headers", "shared-add count"), false)
	_, body := s.RequestData([]byte("body"), true)
	_, answer := s.ResponseHeaders(response(), true)
	return errors.Join(headers, body, answer, w.Tick(), s.Close())
}
