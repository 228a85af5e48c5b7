// Package sim plays a scenario file against the shipped plugin in virtual time:
// clusters whose endpoints answer, slow down or stop, clients that arrive and
// leave, and faults on demand, hours in seconds.
//
// The engine is a queue of events, ordered by time and then by the order in
// which they were put there, one virtual clock and one goroutine (engine.go).
// Every random choice comes from the scenario's seed, so the same file and the
// same seed give the same log to the byte.
package sim
