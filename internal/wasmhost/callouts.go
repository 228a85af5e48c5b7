package wasmhost

import "slices"

// brokenConnection is what proxy_get_status says after a call that got no answer
// (WasmResult of proxy-wasm-cpp-host).
const brokenConnection = 9

// answer is what came of a call to another cluster, on its way to the plugin
// context that the call belongs to. The guest can read it while its callback
// runs.
type answer struct {
	root     *root // nil: called before there was one
	callback string
	args     []uint64
	isHTTP   bool    // there is an HTTP response
	headers  Headers // of it
	trailers Headers
	body     []byte
	redis    []byte
	isStream bool   // a gRPC stream, not a call
	code     uint32 // proxy_get_status; 0 = no failure
	message  string
}

// expect takes the answer to a call that was just made and gives the call's
// token. A call belongs to the plugin context, also when a stream makes it
// (http_call, redis_call and grpc_call in proxy-wasm-cpp-host's exports.cc), so
// it outlives the stream.
func (w *Worker) expect(a answer, args ...uint64) (token uint32) {
	w.lastCall++
	a.root = w.currentRoot()
	a.args = append([]uint64{uint64(w.lastCall)}, args...)
	w.pending = append(w.pending, &a)
	return w.lastCall
}

// Pending is the number of answers from other clusters that wait for Deliver.
func (w *Worker) Pending() int { return len(w.pending) }

// Deliver runs the callbacks for the answers that wait, in the order of the
// calls. What they call in turn waits for the next Deliver, so that the owner of
// the worker decides how long an answer takes; what they cancel does not come.
// The error is a trap that happened in one of these callbacks; a worker that was
// dead before does nothing.
func (w *Worker) Deliver() error {
	if w.dead() {
		return nil
	}
	for last := uint64(w.lastCall); len(w.pending) > 0 && w.pending[0].args[0] <= last; {
		a := w.pending[0]
		w.pending = w.pending[1:]
		if a.root == nil || a.root.deleted {
			continue
		}
		w.answer = a
		if a.code != 0 {
			a.root.statusCode = a.code
		}
		w.invoke(a.callback, a.root.id, a.args...)
		w.answer = nil
	}
	return w.Trapped()
}

// httpAnswer is the HTTP response that the guest can read now; an empty answer
// for none.
func (w *Worker) httpAnswer() answer {
	if w.answer == nil || !w.answer.isHTTP {
		return answer{}
	}
	return *w.answer
}

// waiting finds the call of that token; nil when no answer to it waits.
func (w *Worker) waiting(callback string, token uint32) *answer {
	for _, a := range w.pending {
		if a.callback == callback && a.args[0] == uint64(token) {
			return a
		}
	}
	return nil
}

// forget drops the call of that token; false when it is not waiting.
func (w *Worker) forget(callback string, token uint32) bool {
	before := len(w.pending)
	w.pending = slices.DeleteFunc(w.pending, func(a *answer) bool {
		return a.callback == callback && a.args[0] == uint64(token)
	})
	return len(w.pending) < before
}
