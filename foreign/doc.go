// Package foreign has no code of its own: its tests run plugins that other people have written and
// compiled in the embedded Higress of internal/wasmhost, alone and around dist/endpoint-breaker.wasm.
// `make foreign-plugins` downloads them.
package foreign
