package wasmhost

// Options say what to run and under which conditions.
type Options struct {
	// Wasm is the module as shipped. It is compiled for this plugin alone.
	Wasm []byte
	// Module is used instead of Wasm and CacheDir when it is set: what Compile
	// made, shared with other plugins. Closing the plugin leaves it open.
	Module *Module
	// Configuration is the plugin's JSON as the controller pushes it; may be empty.
	Configuration string
	// Env is vmConfig.env: the guests' environment variables.
	Env map[string]string
	// Workers is the number of worker VMs beside the base VM, at least 1.
	Workers int
	// Clock is what all VMs read, a *VirtualClock or RealClock().
	Clock Clock
	// Seed is where everything random that a guest sees comes from. Each VM has
	// a stream of its own; the same seed and the same calls give the same log.
	Seed uint64
	// Clusters are the clusters, by name, that the plugin can call itself, beside
	// the one that a request is routed to.
	Clusters map[string]Cluster
	// Faults are the faults on demand; nil means none.
	Faults *Faults
	// OnLog takes the log; nil drops it. It is called on the goroutine that runs
	// the callback, so with workers on several goroutines it must be safe for
	// concurrent use.
	OnLog func(LogLine)
	// LogLevel is the lowest level that is logged, and what the foreign function
	// get_log_level answers; nil means LogInfo.
	LogLevel *LogLevel
	// FailPolicy says what the requests of a trapped worker get.
	FailPolicy FailPolicy
	// PluginName and RootID are the properties plugin_name and plugin_root_id.
	PluginName, RootID string
	// CacheDir holds compiled modules, so that a second start is quick. "" means
	// endpoint-breaker in the user's cache directory.
	CacheDir string
}

// FailPolicy is failStrategy of the WasmPlugin resource.
type FailPolicy int

const (
	// FailOpen means that after a trap the filter is as if absent on that worker.
	FailOpen FailPolicy = iota
	// FailClose means that after a trap each later request of that worker gets a
	// local 503.
	FailClose
)
