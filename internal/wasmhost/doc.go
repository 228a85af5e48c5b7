// Package wasmhost is an embedded Higress: it runs a Proxy-Wasm plugin as
// shipped, on wazero, with a base VM, one VM per worker, one store of shared
// data, virtual or real time, and faults on demand.
//
// A [Plugin] is loaded once; its [Worker]s take streams and ticks; a [Stream] is
// one request with its response on its way through the plugin's filter, alone in
// front of the router, and a [ChainStream] the same through the filters of a
// [Chain]. The caller is the rest of the gateway: it hands in headers, body and
// trailers as they come, says what the router knows, and acts on what the last
// filter lets out.
//
// What a plugin calls itself is behind the names of Options.Clusters. Calls are
// made at once and their answers wait until the owner of the worker asks for
// [Worker.Deliver], so virtual time stays deterministic.
//
// The rules are those of ABI 0.2.100 as Higress implements it. Where they are
// not obvious the code names the source: proxy-wasm-cpp-host and Envoy, both in
// Higress's forks, and newer Envoy where Higress 2.2 has moved on to 1.36. What
// a module imports and this package lacks is an error at the start, never a
// function that does nothing.
//
// Not modelled: the canary VM that Envoy starts before the base VM; buffer
// limits and watermarks; 1xx responses and metadata frames; TCP; what joins
// several values of one header; the replacement of a VM that has trapped
// (FAIL_RELOAD is not in Higress's resource); plugins that share a VM; gRPC that
// succeeds. Shared queues are answered as not implemented.
package wasmhost
