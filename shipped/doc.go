// Package shipped has no code of its own: its tests run the plugin as it is shipped,
// dist/endpoint-breaker.wasm, in the embedded Higress of internal/wasmhost, under virtual time.
package shipped
