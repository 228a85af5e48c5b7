package simenvoy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"endpoint-breaker/internal/backend"
	"endpoint-breaker/internal/sim"
)

// What a request tells its endpoint.
const (
	numberHeader       = "x-scenario-request" // which one it is, counted from 1
	responseTypeHeader = "x-scenario-response-type"
)

// endpoints are those of all clusters, each a server on a port of its own. What the file calls
// their addresses are names here.
type endpoints struct {
	all     []*endpoint
	byName  map[string]*endpoint
	members map[string][]*endpoint // of each cluster now, in the registry's order
}

// endpoint is a server that answers as the file says.
type endpoint struct {
	cluster string
	name    string
	server  *backend.Server
	clock   clock

	mu        sync.Mutex
	responder *sim.Responder
	late      time.Duration // how much later than it should it did something, at most
}

func startEndpoints(ctx context.Context, s *sim.Scenario, seed uint64) (*endpoints, error) {
	es := &endpoints{byName: map[string]*endpoint{}, members: map[string][]*endpoint{}}
	for _, c := range s.Clusters {
		for _, declared := range c.Endpoints {
			server, err := backend.Start(ctx, backend.Options{Name: declared.Name})
			if err != nil {
				return es, err
			}
			e := &endpoint{cluster: c.Name, name: declared.Name, server: server, responder: sim.NewResponder(declared, seed)}
			es.all = append(es.all, e)
			es.byName[e.name] = e
			if !declared.Absent {
				es.add(e)
			}
		}
	}
	return es, nil
}

// serve begins to answer by the clock.
func (es *endpoints) serve(by clock) {
	for _, e := range es.all {
		e.clock = by
		e.server.Serve(e)
	}
}

func (es *endpoints) stop() error {
	var errs []error
	for _, e := range es.all {
		errs = append(errs, e.server.Stop())
	}
	return errors.Join(errs...)
}

// addresses are those of the cluster's members now.
func (es *endpoints) addresses(cluster string) []string {
	addresses := []string{}
	for _, e := range es.members[cluster] {
		addresses = append(addresses, e.server.Address())
	}
	return addresses
}

func (es *endpoints) add(e *endpoint) {
	if !slices.Contains(es.members[e.cluster], e) {
		es.members[e.cluster] = append(es.members[e.cluster], e)
	}
}

func (es *endpoints) remove(e *endpoint) {
	es.members[e.cluster] = slices.DeleteFunc(es.members[e.cluster], func(other *endpoint) bool { return other == e })
}

func (es *endpoints) moveToFront(e *endpoint) {
	if slices.Contains(es.members[e.cluster], e) {
		es.remove(e)
		es.members[e.cluster] = slices.Insert(es.members[e.cluster], 0, e)
	}
}

// nameOf is the file's name of the endpoint with a real address, or that address.
func (es *endpoints) nameOf(address string) string {
	for _, e := range es.all {
		if e.server.Address() == address {
			return e.name
		}
	}
	return address
}

// late is the largest delay of all endpoints.
func (es *endpoints) late() time.Duration {
	late := time.Duration(0)
	for _, e := range es.all {
		e.mu.Lock()
		late = max(late, e.late)
		e.mu.Unlock()
	}
	return late
}

// arrival is a request at its endpoint.
type arrival struct {
	endpoint string
	at       time.Time
}

// arrivals are all requests that have reached an endpoint, by their number.
func (es *endpoints) arrivals() map[int]arrival {
	found := map[int]arrival{}
	for _, e := range es.all {
		for _, r := range e.server.Requests() {
			if number, err := strconv.Atoi(r.Header.Get(numberHeader)); err == nil {
				found[number] = arrival{e.name, r.Arrived}
			}
		}
	}
	return found
}

// ServeHTTP takes the whole request and answers it when its time has come.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
	answer := e.answer()
	e.wait(r, answer.Headers)
	w.Header().Set("Content-Type", r.Header.Get(responseTypeHeader))
	w.WriteHeader(answer.Status)
	if answer.FirstChunk > answer.Headers {
		flush(w)
		e.wait(r, answer.FirstChunk)
	}
	_, _ = io.WriteString(w, `{"choices":[]}`) // a client that has left hears nothing
	if answer.Total > answer.FirstChunk {
		flush(w)
		e.wait(r, answer.Total)
	}
}

// flush sends what there is. A client that has left hears nothing.
func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

func (e *endpoint) answer() sim.Answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.responder.Answer(max(e.clock.now(), 0))
}

// wait waits for a moment of the run. Without the request there is nothing more to do.
func (e *endpoint) wait(r *http.Request, moment time.Duration) {
	if e.clock.wait(r.Context(), moment) != nil {
		panic(http.ErrAbortHandler)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.late = max(e.late, time.Since(e.clock.at(moment)))
}
