package wasmhost

import "bytes"

// read returns parameter i as a view of guest memory, which is only good until
// the guest runs again.
func (c *call) read(i int) ([]byte, bool) {
	place := c.at(i)
	pointer, size := uint32(c.stack[place]), uint32(c.stack[place+1])
	if size == 0 {
		return nil, true
	}
	return c.worker.memory().Read(pointer, size)
}

// bytes returns a copy of text parameter i; call.run has checked it.
func (c *call) bytes(i int) []byte {
	view, _ := c.read(i)
	return bytes.Clone(view)
}

// text returns text parameter i as a string.
func (c *call) text(i int) string {
	view, _ := c.read(i)
	return string(view)
}

// number returns parameter i as the 32-bit number that it is.
func (c *call) number(i int) uint32 { return uint32(c.stack[c.at(i)]) }

// long returns parameter i as the 64-bit number that it is.
func (c *call) long(i int) uint64 { return c.stack[c.at(i)] }

// give hands bytes to the guest through parameter i. No bytes are a nil pointer
// with size 0, as in proxy-wasm-cpp-host: the guest's allocator panics when it
// is asked for nothing.
func (c *call) give(i int, value []byte) Status {
	if c.replace != nil {
		value = c.replace(value)
	}
	place := c.at(i)
	pointerAt, sizeAt := uint32(c.stack[place]), uint32(c.stack[place+1])
	pointer, ok := c.worker.copyIn(value)
	if !ok {
		return StatusInvalidMemoryAccess
	}
	memory := c.worker.memory()
	if !memory.WriteUint32Le(pointerAt, pointer) || !memory.WriteUint32Le(sizeAt, uint32(len(value))) {
		return StatusInvalidMemoryAccess
	}
	return StatusOK
}

// put writes a 32-bit number to where parameter i points.
func (c *call) put(i int, value uint32) Status {
	if !c.worker.memory().WriteUint32Le(c.number(i), value) {
		return StatusInvalidMemoryAccess
	}
	return StatusOK
}

// putLong writes a 64-bit number to where parameter i points.
func (c *call) putLong(i int, value uint64) Status {
	if !c.worker.memory().WriteUint64Le(c.number(i), value) {
		return StatusInvalidMemoryAccess
	}
	return StatusOK
}

// copyIn puts bytes into memory that the guest's allocator gives. A trap in the
// allocator ends the callback that is running, so it panics onwards.
func (w *Worker) copyIn(value []byte) (pointer uint32, ok bool) {
	if len(value) == 0 {
		return 0, true
	}
	results, err := w.allocate.Call(w.ctx, uint64(len(value)))
	if err != nil {
		panic(err)
	}
	pointer = uint32(results[0])
	if pointer == 0 {
		return 0, false
	}
	return pointer, w.memory().Write(pointer, value)
}
