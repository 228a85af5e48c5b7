package envoy

import (
	"context"
	"slices"
	"strings"
)

// RefusedError tells that Envoy did not take a configuration. What was there before, if anything,
// goes on.
type RefusedError struct {
	// Reason is what Envoy's log says, after the complaints of the plugin that belong to it.
	Reason string
}

func (e *RefusedError) Error() string { return "Envoy refused the configuration: " + e.Reason }

// refused finds Envoy's reason in the log, from a line on.
func (e *Envoy) refused(ctx context.Context, from int) error {
	verdict, err := e.log.wait(ctx, e.process.done, from, func(l LogLine) bool {
		return strings.HasPrefix(l.Message, "Filesystem config update ") // rejected, or failure
	})
	if err != nil {
		return &RefusedError{Reason: "its log does not say why: " + err.Error()}
	}
	var reasons []string
	for _, l := range e.log.copied()[from:] {
		if l.Component == "wasm" && l.Level != "info" {
			reasons = append(reasons, l.Message)
		}
	}
	return &RefusedError{Reason: strings.Join(slices.Compact(append(reasons, withoutDump(verdict.Message))), "\n")}
}

// withoutDump leaves the configuration out that Envoy prints into the middle of some messages.
func withoutDump(message string) string {
	before, dump, found := strings.Cut(message, "goo.gle/debug")
	end := strings.LastIndex(dump, "\n: ")
	if !found || end < 0 {
		return message
	}
	return before + dump[end+len("\n: "):]
}
