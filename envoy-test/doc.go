// Package envoytest holds the end-to-end tests: the plugin's build for a stock Envoy, in a real
// Envoy, between real clients and backends. They are judged by counts, never by a tight time.
//
// Time is scaled: seconds of a deployment are some 70 times shorter here. `make envoy` fetches
// the Envoy; without it, or where there is none, each test says so and is skipped.
package envoytest
