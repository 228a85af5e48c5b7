package wasmhost

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wasmModule writes a module by hand: it imports functions of type ()->(), and
// defines one of its own that it exports under the given names.
func wasmModule(imports [][2]string, exports ...string) []byte {
	section := func(id byte, content []byte) []byte {
		return append(binary.AppendUvarint([]byte{id}, uint64(len(content))), content...)
	}
	name := func(text string) []byte { return append([]byte{byte(len(text))}, text...) }
	imported := []byte{byte(len(imports))}
	for _, entry := range imports {
		imported = append(imported, name(entry[0])...)
		imported = append(imported, name(entry[1])...)
		imported = append(imported, 0, 0) // a function of type 0
	}
	exported := []byte{byte(len(exports))}
	for _, export := range exports {
		exported = append(append(exported, name(export)...), 0, byte(len(imports)))
	}
	module := []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	module = append(module, section(1, []byte{1, 0x60, 0, 0})...) // type 0: ()->()
	module = append(module, section(2, imported)...)
	module = append(module, section(3, []byte{1, 0})...) // one function of type 0
	module = append(module, section(7, exported)...)
	return append(module, section(10, []byte{1, 2, 0, 0x0b})...) // its empty body
}

func loadModule(t *testing.T, wasm []byte) error {
	t.Helper()
	_, options := newProbe(t, func(o *Options) { o.Module, o.Wasm, o.CacheDir = nil, wasm, t.TempDir() })
	plugin, err := Load(t.Context(), options)
	require.Nil(t, plugin)
	return err
}

func TestAnImportThatTheHostLacksIsNamedAtTheStart(t *testing.T) {
	err := loadModule(t, wasmModule([][2]string{
		{"env", "proxy_log"},
		{"env", "proxy_teleport"},
		{"wasi_snapshot_preview1", "path_teleport"},
		{"wasi_snapshot_preview1", "sched_yield"},
		{"elsewhere", "f"},
	}, abiVersion))
	var unknown *UnknownImportsError
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, []string{"env.proxy_teleport", "wasi_snapshot_preview1.path_teleport", "elsewhere.f"}, unknown.Imports)
	assert.ErrorContains(t, err, "env.proxy_teleport, wasi_snapshot_preview1.path_teleport, elsewhere.f")
}

func TestAnImportOfTheWrongTypeIsNamedAtTheStart(t *testing.T) {
	assert.ErrorContains(t, loadModule(t, wasmModule([][2]string{{"env", "proxy_log"}}, abiVersion, "malloc")), "proxy_log")
}

func TestAModuleOfAnotherABIIsRefused(t *testing.T) {
	assert.ErrorContains(t, loadModule(t, wasmModule(nil, "proxy_abi_version_0_2_1")), abiVersion)
}

func TestAModuleWithoutAnAllocatorIsRefused(t *testing.T) {
	module, err := Compile(t.Context(), wasmModule(nil, abiVersion), t.TempDir())
	require.ErrorContains(t, err, "proxy_on_memory_allocate")
	assert.Nil(t, module)
}

func TestWhatIsNoModuleIsRefused(t *testing.T) {
	assert.ErrorContains(t, loadModule(t, []byte("no wasm")), "compile the module")
}

// tiny is a plugin without callbacks: quick to compile.
func tiny() []byte { return wasmModule(nil, abiVersion, "malloc") }

func loadTiny(t *testing.T, cacheDir string) {
	t.Helper()
	startProbe(t, func(o *Options) { o.Module, o.Wasm, o.CacheDir = nil, tiny(), cacheDir })
}

func TestTheCompiledModuleIsKeptInTheCacheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	loadTiny(t, dir)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.NotEmpty(t, entries)
}

func TestTheUsersCacheDirectoryIsTheDefault(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	loadTiny(t, "")
	base, err := os.UserCacheDir()
	require.NoError(t, err)
	assert.DirExists(t, filepath.Join(base, cacheDirName))
}

func TestWithoutACacheDirectoryTheModuleIsCompiledInMemory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	loadTiny(t, filepath.Join(file, "cache"))
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	loadTiny(t, "")
}

func TestOneModuleServesManyPlugins(t *testing.T) {
	first, second := startProbe(t), startProbe(t)
	assert.Equal(t, []string{"ok"}, first.run("shared-set k v"))
	assert.Equal(t, []string{notFound}, second.run("shared-get k"), "each has a store of its own")
}

func TestAPluginWithoutCallbacksLetsEverythingPass(t *testing.T) {
	p := startProbe(t, func(o *Options) { o.Module, o.Wasm, o.CacheDir = nil, tiny(), t.TempDir() })
	s := p.open()
	flowOf(t, FlowContinue)(s.RequestHeaders(request(), false))
	flowOf(t, FlowContinue)(s.RequestData([]byte("x"), true))
	flowOf(t, FlowContinue)(s.ResponseHeaders(response(), true))
	require.NoError(t, s.Close())
	require.NoError(t, p.Reconfigure(t.Context(), "{}"))
	assert.Equal(t, 1, p.Worker(0).PluginContexts())
}
