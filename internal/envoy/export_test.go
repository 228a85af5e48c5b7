package envoy

// PID is the process's.
func (e *Envoy) PID() int { return e.process.pid }
