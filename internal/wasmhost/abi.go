package wasmhost

import (
	"context"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// hostModule is the module name under which guests import the ABI.
const hostModule = "env"

// kind is what one parameter of a host function means. Every host function
// answers a Status.
type kind int

const (
	text     kind = iota // pointer and size of bytes that the guest passes
	number               // a 32-bit number
	long                 // a 64-bit number
	outBytes             // where pointer and size of bytes for the guest go
	out                  // where a number for the guest goes
)

func (k kind) wasmTypes() []api.ValueType {
	switch k {
	case text, outBytes:
		return []api.ValueType{api.ValueTypeI32, api.ValueTypeI32}
	case long:
		return []api.ValueType{api.ValueTypeI64}
	default:
		return []api.ValueType{api.ValueTypeI32}
	}
}

// width is the number of wasm parameters that it takes.
func (k kind) width() int {
	if k == text || k == outBytes {
		return 2
	}
	return 1
}

// hostFunction is one function of the ABI.
type hostFunction struct {
	name   string
	params []kind
	serve  func(c *call) Status
}

// hostFunctions is the whole table: what is not in it a module may not import.
func hostFunctions() []hostFunction {
	groups := [][]hostFunction{
		headerFunctions(), bufferFunctions(), sharedDataFunctions(), metricFunctions(),
		propertyFunctions(), upstreamFunctions(), streamFunctions(), pluginFunctions(),
		httpFunctions(), redisFunctions(), grpcFunctions(), queueFunctions(),
	}
	var all []hostFunction
	for _, group := range groups {
		all = append(all, group...)
	}
	return all
}

// export adds every function of the table to the builder.
func export(builder wazero.HostModuleBuilder, functions []hostFunction) wazero.HostModuleBuilder {
	for index, function := range functions {
		var params []api.ValueType
		for _, param := range function.params {
			params = append(params, param.wasmTypes()...)
		}
		serve := api.GoFunc(func(ctx context.Context, stack []uint64) {
			stack[0] = uint64(workerOf(ctx).serve(index, stack))
		})
		builder = builder.NewFunctionBuilder().
			WithGoFunction(serve, params, []api.ValueType{api.ValueTypeI32}).
			Export(function.name)
	}
	return builder
}

// serve answers one host call of this worker's guest, with the faults on demand
// around it.
func (w *Worker) serve(index int, stack []uint64) Status {
	function := &w.plugin.module.functions[index]
	w.counts[index]++
	c := &call{worker: w, function: function, stack: stack}
	fault := w.askFaults(function.name, w.counts[index], c)
	if fault.Trap != "" {
		panic(onDemandError(fault.Trap))
	}
	if fault.Status != StatusOK && !fault.KeepEffect {
		return fault.Status
	}
	c.replace = fault.Replace
	status := c.run()
	if fault.Status != StatusOK {
		return fault.Status
	}
	return status
}

// askFaults builds the description of a call only when somebody wants it.
func (w *Worker) askFaults(name string, count uint64, c *call) Fault {
	rules := w.plugin.options.Faults.inOrder()
	if len(rules) == 0 {
		return Fault{}
	}
	description := HostCall{
		Name: name, Worker: w.index, Count: count, Phase: w.phase, Context: w.effectiveID(),
	}
	if c != nil {
		description.Argument = c.firstText()
	}
	return ask(rules, description)
}

// onDemandError is the panic value of a demanded trap: wazero turns it into the
// error of the callback.
type onDemandError string

// Error gives the rule's words.
func (t onDemandError) Error() string { return string(t) }

// call is one host call while it is served.
type call struct {
	worker   *Worker
	function *hostFunction
	stack    []uint64
	replace  func([]byte) []byte
}

// run checks that the guest's pointers are sound, then serves the call.
func (c *call) run() Status {
	for i, param := range c.function.params {
		if param != text {
			continue
		}
		if _, ok := c.read(i); !ok {
			return StatusInvalidMemoryAccess
		}
	}
	return c.function.serve(c)
}

// at gives the place of parameter i on the stack.
func (c *call) at(i int) int {
	place := 0
	for _, param := range c.function.params[:i] {
		place += param.width()
	}
	return place
}

// firstText gives the first text parameter for fault rules, "" without one.
// Property paths are joined by NUL bytes, which rules see as dots.
func (c *call) firstText() string {
	for i, param := range c.function.params {
		if param == text {
			view, _ := c.read(i)
			return strings.ReplaceAll(string(view), "\x00", ".")
		}
	}
	return ""
}
