package wasmhost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// The callbacks of the ABI that this host makes.
const (
	onContextCreate    = "proxy_on_context_create"
	onVMStart          = "proxy_on_vm_start"
	onConfigure        = "proxy_on_configure"
	onTick             = "proxy_on_tick"
	onRequestHeaders   = "proxy_on_request_headers"
	onRequestBody      = "proxy_on_request_body"
	onRequestTrailers  = "proxy_on_request_trailers"
	onResponseHeaders  = "proxy_on_response_headers"
	onResponseBody     = "proxy_on_response_body"
	onResponseTrailers = "proxy_on_response_trailers"
	onLog              = "proxy_on_log"
	onDone             = "proxy_on_done"
	onDelete           = "proxy_on_delete"

	onHTTPCallResponse  = "proxy_on_http_call_response"
	onRedisCallResponse = "proxy_on_redis_call_response"
	onGRPCClose         = "proxy_on_grpc_close"
)

// initializer is the start function of a WASI module that exports functions.
const initializer = "_initialize"

// Worker is one Envoy worker thread with its VM. It is not safe for concurrent
// use: one goroutine at a time, like the thread that it stands for. Different
// workers may run at once.
type Worker struct {
	plugin   *Plugin
	index    int
	ctx      context.Context // carries this worker to the host functions
	module   api.Module
	allocate api.Function
	exports  map[string]api.Function
	stdout   *lineWriter
	stderr   *lineWriter
	trap     *TrapError

	lastID  uint32
	roots   []*root
	serving *root
	streams map[uint32]*Stream
	counts  []uint64          // host calls by index of Module.functions
	started map[string]uint64 // callbacks by name
	missed  map[string]bool   // what the guest has asked for and the host lacks

	// Calls to other clusters.
	redis    map[string]RedisClient // by cluster
	lastCall uint32
	pending  []*answer

	// What holds while a callback runs.
	phase         string
	context       uint32   // that was called
	effective     uint32   // that the guest acts for; 0 = context
	stopIteration bool     // a local reply was asked for
	after         []func() // runs when the callback has returned
	configuration *string  // readable while the plugin is being configured
	answer        *answer  // readable while its callback runs
	listening     bool
	heard         []LogLine // while listening
}

type workerKey struct{}

// workerOf finds whose guest calls; newWorker has put it there.
func workerOf(ctx context.Context) *Worker {
	worker, _ := ctx.Value(workerKey{}).(*Worker)
	return worker
}

// TickPeriod is the shortest period that a live plugin context has asked for; 0
// means no ticks. It can change with every callback.
func (w *Worker) TickPeriod() time.Duration {
	shortest := time.Duration(0)
	for _, r := range w.roots {
		if r.period > 0 && (shortest == 0 || r.period < shortest) && !w.dead() {
			shortest = r.period
		}
	}
	return shortest
}

// Tick runs proxy_on_tick of every live plugin context that has asked for
// ticks, the oldest first, whatever its period. The error is a trap that
// happened in this very tick; a worker that was dead before does nothing.
func (w *Worker) Tick() error {
	if w.dead() {
		return nil
	}
	for _, r := range slices.Clone(w.roots) {
		if r.period > 0 && !r.deleted {
			w.invoke(onTick, r.id)
		}
	}
	return w.Trapped()
}

// Trapped is nil, or the *TrapError that ended this worker's VM.
func (w *Worker) Trapped() error {
	if w.trap == nil {
		return nil
	}
	return w.trap
}

// MemoryBytes is the size of the VM's linear memory now; 0 after a trap.
func (w *Worker) MemoryBytes() uint64 {
	if w.dead() {
		return 0
	}
	return uint64(w.memory().Size())
}

// Calls counts the host calls that the guest has made so far, by ABI name.
// Functions never called are not in it, and WASI is not counted.
func (w *Worker) Calls() map[string]uint64 {
	calls := map[string]uint64{}
	for index, count := range w.counts {
		if count > 0 {
			calls[w.plugin.module.functions[index].name] = count
		}
	}
	return calls
}

// OpenStreams is the number of streams that are not closed yet.
func (w *Worker) OpenStreams() int { return len(w.streams) }

// PluginContexts is the number of live plugin contexts: 1, or more while old
// configurations still have streams.
func (w *Worker) PluginContexts() int { return len(w.roots) }

func (w *Worker) dead() bool { return w.trap != nil }

func (w *Worker) memory() api.Memory { return w.module.Memory() }

func (w *Worker) newID() uint32 {
	w.lastID++
	return w.lastID
}

// knows tells whether an id belongs to a live context of this VM.
func (w *Worker) knows(id uint32) bool {
	stream, found := w.streams[id]
	return found && stream.created || w.rootByID(id) != nil
}

// effectiveID is the context that the guest acts for. When the one that it
// chose has gone, it is the one that was called.
func (w *Worker) effectiveID() uint32 {
	if w.effective != 0 && w.knows(w.effective) {
		return w.effective
	}
	return w.context
}

// currentStream is the stream that the guest acts for, nil for a plugin context.
func (w *Worker) currentStream() *Stream { return w.streams[w.effectiveID()] }

// afterwards runs an action when the callback has returned: the guest cannot be
// entered again before (WasmBase::addAfterVmCallAction).
func (w *Worker) afterwards(action func()) { w.after = append(w.after, action) }

// outcome is what a callback came to.
type outcome struct {
	value   uint32
	called  bool // false: not exported, or the VM is dead
	stopped bool // a local reply was asked for meanwhile
}

// refused reads the outcome of a callback that answers yes or no.
func (o outcome) refused() bool { return o.called && o.value == 0 }

// invoke runs one callback, then the actions that it has put off. A trap ends
// the VM.
func (w *Worker) invoke(callback string, id uint32, args ...uint64) outcome {
	function := w.exports[callback]
	if w.dead() || function == nil {
		return outcome{}
	}
	w.phase, w.context = callback, id
	results, err := w.enter(function, append([]uint64{uint64(id)}, args...))
	result := outcome{called: err == nil, stopped: w.stopIteration}
	if len(results) > 0 {
		result.value = uint32(results[0])
	}
	if err != nil {
		w.die(callback, err)
	}
	w.phase, w.context, w.effective, w.stopIteration = "", 0, 0, false
	for len(w.after) > 0 {
		action := w.after[0]
		w.after = w.after[1:]
		action()
	}
	return result
}

// initialize runs the module's own start, in which a Go plugin runs its init
// functions. It comes before every callback and has no context.
func (w *Worker) initialize() error {
	function := w.module.ExportedFunction(initializer)
	if function == nil {
		return nil
	}
	w.phase = initializer
	_, err := w.enter(function, nil)
	if err != nil {
		w.die(initializer, err)
	}
	w.phase = ""
	return w.Trapped()
}

func (w *Worker) enter(function api.Function, args []uint64) ([]uint64, error) {
	w.started[w.phase]++
	fault := w.askFaults(w.phase, w.started[w.phase], nil)
	if fault.Trap != "" {
		return nil, onDemandError(fault.Trap)
	}
	return function.Call(w.ctx, args...)
}

// die marks the VM as dead and gives its memory back. What the guest wrote
// before, such as the Go runtime's trace, has reached the log already.
func (w *Worker) die(callback string, err error) {
	w.flush()
	w.trap = &TrapError{Worker: w.index, Phase: callback, Err: err}
	w.pending = nil
	w.closeRedis()
	reason, _, _ := strings.Cut(err.Error(), "\n")
	w.log(LogCritical, FromHost, fmt.Sprintf("the VM is dead, trapped in %s: %s", callback, reason))
	if closeErr := w.module.Close(w.ctx); closeErr != nil {
		w.trap.Err = errors.Join(err, closeErr)
	}
}

func (w *Worker) flush() {
	w.stdout.flush()
	w.stderr.flush()
}

// log hands a line on when it is at the log's level or above.
func (w *Worker) log(level LogLevel, source LogSource, message string) {
	line := LogLine{Worker: w.index, Level: level, Source: source, Phase: w.phase, Message: message}
	if w.listening {
		w.heard = append(w.heard, line)
	}
	if level < w.plugin.logLevel || w.plugin.options.OnLog == nil {
		return
	}
	w.plugin.options.OnLog(line)
}
