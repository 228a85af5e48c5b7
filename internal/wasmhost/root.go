package wasmhost

import (
	"slices"
	"time"
)

// root is one plugin context of a VM: one configuration. A new configuration
// gets a new root beside the old one.
type root struct {
	id          uint32
	period      time.Duration // of its ticks; 0 = none
	streams     int           // that it still serves
	retired     bool          // replaced: it ends with its last stream
	pendingDone bool          // proxy_on_done said "not yet"
	deleted     bool
	statusCode  uint32 // of the last call that failed
}

// start brings up a fresh VM: its first plugin context, the VM start, then the
// configuration (ContextBase::onStart and onConfigure of proxy-wasm-cpp-host).
func (w *Worker) start(configuration string) error {
	defer w.listen()()
	first := w.newRoot()
	w.configuration = &configuration
	w.invoke(onContextCreate, first.id, 0)
	w.configuration = nil
	if w.invoke(onVMStart, first.id, 0).refused() {
		return w.refusal()
	}
	if err := w.configure(first, configuration); err != nil {
		return err
	}
	w.serving = first
	return nil
}

// addRoot puts a new plugin context beside the serving one. The caller makes it
// serve, or finishes it.
func (w *Worker) addRoot(configuration string) (*root, error) {
	defer w.listen()()
	added := w.newRoot()
	w.invoke(onContextCreate, added.id, 0)
	if err := w.configure(added, configuration); err != nil {
		w.finishRoot(added)
		return nil, err
	}
	return added, nil
}

func (w *Worker) newRoot() *root {
	added := &root{id: w.newID()}
	w.roots = append(w.roots, added)
	return added
}

// configure runs proxy_on_configure. Only meanwhile can the guest read the
// configuration.
func (w *Worker) configure(r *root, configuration string) error {
	w.configuration = &configuration
	accepted := w.invoke(onConfigure, r.id, uint64(len(configuration)))
	w.configuration = nil
	if w.dead() {
		return w.trap
	}
	if accepted.refused() {
		return w.refusal()
	}
	return nil
}

// listen keeps the log lines until the returned function is called, so that a
// refusal can quote them.
func (w *Worker) listen() (stop func()) {
	w.listening, w.heard = true, nil
	return func() { w.listening, w.heard = false, nil }
}

func (w *Worker) refusal() error {
	return &ConfigurationRefusedError{Worker: w.index, Lines: slices.Clone(w.heard)}
}

// serveWith makes a plugin context take the new streams; the one before it ends
// with its last stream.
func (w *Worker) serveWith(next *root) {
	old := w.serving
	w.serving = next
	old.retired = true
	w.finishIfIdle(old)
}

func (w *Worker) finishIfIdle(r *root) {
	if r.retired && r.streams == 0 {
		w.finishRoot(r)
	}
}

// finishRoot runs proxy_on_done and, unless the guest says "not yet",
// proxy_on_delete (WasmBase::startShutdown).
func (w *Worker) finishRoot(r *root) {
	if r.deleted || r.pendingDone {
		return
	}
	if w.invoke(onDone, r.id).refused() {
		r.pendingDone = true
		return
	}
	w.deleteRoot(r)
}

func (w *Worker) deleteRoot(r *root) {
	w.invoke(onDelete, r.id)
	r.deleted = true
	w.roots = slices.DeleteFunc(slices.Clone(w.roots), func(other *root) bool { return other == r })
}

// currentRoot is the plugin context of whatever context the guest acts for.
func (w *Worker) currentRoot() *root {
	if stream := w.currentStream(); stream != nil {
		return stream.root
	}
	return w.rootByID(w.effectiveID())
}

func (w *Worker) rootByID(id uint32) *root {
	for _, r := range w.roots {
		if r.id == id {
			return r
		}
	}
	return nil
}
