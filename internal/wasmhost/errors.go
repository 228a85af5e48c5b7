package wasmhost

import (
	"fmt"
	"strings"
)

// UnknownImportsError refuses a module that needs what this host does not have.
type UnknownImportsError struct {
	Imports []string // "module.name" or "module.name (memory)", in the module's order
}

// Error names every missing import.
func (e *UnknownImportsError) Error() string {
	return "the module imports what this host does not provide: " + strings.Join(e.Imports, ", ")
}

// ConfigurationRefusedError says that proxy_on_configure returned false.
type ConfigurationRefusedError struct {
	Worker int       // the VM that refused: BaseVM or the index of a worker
	Lines  []LogLine // what it logged meanwhile
}

// Error holds the plugin's own words at warning level and above.
func (e *ConfigurationRefusedError) Error() string {
	var said []string
	for _, line := range e.Lines {
		if line.Level >= LogWarn {
			said = append(said, line.Message)
		}
	}
	if len(said) == 0 {
		return "the plugin refused its configuration and logged no reason"
	}
	return "the plugin refused its configuration: " + strings.Join(said, "; ")
}

// TrapError is what ended a VM.
type TrapError struct {
	Worker int    // BaseVM or the index of the worker
	Phase  string // the callback in which it happened, or _initialize
	Err    error  // wazero's error; holds the stack of wasm functions
}

// Error names the VM and the callback.
func (e *TrapError) Error() string {
	who := fmt.Sprintf("worker %d", e.Worker)
	if e.Worker == BaseVM {
		who = "the base VM"
	}
	return fmt.Sprintf("%s trapped in %s: %v", who, e.Phase, e.Err)
}

// Unwrap gives the cause.
func (e *TrapError) Unwrap() error { return e.Err }
