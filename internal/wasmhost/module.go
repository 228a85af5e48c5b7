package wasmhost

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

const (
	abiVersion   = "proxy_abi_version_0_2_100"
	cacheDirName = "endpoint-breaker"
)

// Module is a compiled plugin. Compiling is what takes long; one Module serves
// any number of Plugins, one after another or at once. It is safe for concurrent
// use.
type Module struct {
	functions []hostFunction
	cache     wazero.CompilationCache
	runtime   wazero.Runtime
	compiled  wazero.CompiledModule
}

// Compile compiles a module, or loads what it was compiled to before from the
// cache directory; "" means endpoint-breaker in the user's cache directory. A
// module that imports what the host lacks is refused with *UnknownImportsError.
// The Module must be closed after its plugins.
func Compile(ctx context.Context, wasm []byte, cacheDir string) (*Module, error) {
	m := &Module{functions: hostFunctions(), cache: openCache(cacheDir)}
	// NewRuntimeConfig compiles to machine code where wazero can, and interprets
	// elsewhere.
	m.runtime = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(m.cache))
	if err := m.prepare(ctx, wasm); err != nil {
		_ = m.Close(ctx) // the first error is the one to tell
		return nil, err
	}
	return m, nil
}

// Close frees the module and every VM that still runs it.
func (m *Module) Close(ctx context.Context) error {
	if err := m.runtime.Close(ctx); err != nil {
		return fmt.Errorf("close the VMs: %w", err)
	}
	if err := m.cache.Close(ctx); err != nil {
		return fmt.Errorf("close the compiled module: %w", err)
	}
	return nil
}

func (m *Module) prepare(ctx context.Context, wasm []byte) error {
	compiled, err := m.runtime.CompileModule(ctx, wasm)
	if err != nil {
		return fmt.Errorf("compile the module: %w", err)
	}
	m.compiled = compiled
	hosts := map[string]wazero.CompiledModule{}
	for name, builder := range map[string]interface {
		Compile(ctx context.Context) (wazero.CompiledModule, error)
	}{
		hostModule:                        export(m.runtime.NewHostModuleBuilder(hostModule), m.functions),
		wasi_snapshot_preview1.ModuleName: wasi_snapshot_preview1.NewBuilder(m.runtime),
	} {
		if hosts[name], err = builder.Compile(ctx); err != nil {
			return fmt.Errorf("build the host module %s: %w", name, err)
		}
	}
	if err := checkModule(compiled, hosts); err != nil {
		return err
	}
	for name, host := range hosts {
		if _, err := m.runtime.InstantiateModule(ctx, host, wazero.NewModuleConfig()); err != nil {
			return fmt.Errorf("start the host module %s: %w", name, err)
		}
	}
	return nil
}

// checkModule wants the ABI version that this host speaks, an allocator, and
// every import in one of the host modules.
func checkModule(guest wazero.CompiledModule, hosts map[string]wazero.CompiledModule) error {
	var missing []string
	for _, function := range guest.ImportedFunctions() {
		module, name, _ := function.Import()
		host, found := hosts[module]
		if found {
			_, found = host.ExportedFunctions()[name]
		}
		if !found {
			missing = append(missing, module+"."+name)
		}
	}
	for _, memory := range guest.ImportedMemories() {
		module, name, _ := memory.Import()
		missing = append(missing, module+"."+name+" (memory)")
	}
	if len(missing) > 0 {
		return &UnknownImportsError{Imports: missing}
	}
	exports := guest.ExportedFunctions()
	if _, found := exports[abiVersion]; !found {
		return fmt.Errorf("the module does not export %s: it is not a plugin for this host", abiVersion)
	}
	if !slices.ContainsFunc(allocators(), func(name string) bool { return exports[name] != nil }) {
		return fmt.Errorf("the module exports none of %v: the host cannot hand it any bytes", allocators())
	}
	return nil
}

// allocators are the names under which a plugin exports what gives the host
// memory; the first one that is there counts.
func allocators() []string { return []string{"proxy_on_memory_allocate", "malloc"} }

// openCache falls back to memory when there is no directory to write to: then
// only the start is slower.
func openCache(dir string) wazero.CompilationCache {
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return wazero.NewCompilationCache()
		}
		dir = filepath.Join(base, cacheDirName)
	}
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return wazero.NewCompilationCache()
	}
	return cache
}

// instantiate makes the VM of one worker: the same module, its own memory,
// randomness and output. The module's own start runs when the worker can answer
// the host calls in it.
func (m *Module) instantiate(w *Worker, o *Options) error {
	clock := o.Clock
	config := wazero.NewModuleConfig().
		WithName("").
		WithStartFunctions().
		WithNanotime(func() int64 { return int64(clock.Monotonic()) }, sys.ClockResolution(1)).
		WithWalltime(func() (int64, int32) {
			now := clock.Wall()
			return now.Unix(), int32(now.Nanosecond())
		}, sys.ClockResolution(1)).
		WithNanosleep(func(ns int64) { clock.Sleep(time.Duration(ns)) }).
		WithRandSource(randomStream(o.Seed, w.index)).
		WithStdout(w.stdout).
		WithStderr(w.stderr)
	for _, name := range slices.Sorted(maps.Keys(o.Env)) {
		config = config.WithEnv(name, o.Env[name])
	}
	module, err := m.runtime.InstantiateModule(w.ctx, m.compiled, config)
	if err != nil {
		w.flush()
		return fmt.Errorf("start a VM: %w", err)
	}
	w.module = module
	for _, name := range allocators() {
		if w.allocate = module.ExportedFunction(name); w.allocate != nil {
			break
		}
	}
	for _, name := range []string{
		onContextCreate, onVMStart, onConfigure, onTick,
		onRequestHeaders, onRequestBody, onRequestTrailers,
		onResponseHeaders, onResponseBody, onResponseTrailers,
		onLog, onDone, onDelete,
		onHTTPCallResponse, onRedisCallResponse, onGRPCClose,
	} {
		if function := module.ExportedFunction(name); function != nil {
			w.exports[name] = function
		}
	}
	return w.initialize()
}

// randomStream is what random_get of one VM reads, for ever the same for a seed
// and an index.
func randomStream(seed uint64, index int) *rand.ChaCha8 {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	binary.LittleEndian.PutUint64(key[8:], uint64(index))
	return rand.NewChaCha8(key)
}
