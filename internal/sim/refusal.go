package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"endpoint-breaker/internal/wasmhost"
)

// This file tells what the plugin logs about its configuration as what it is for the reader
// of a scenario: something in the file.

// whyRefused is the plugin's reason for a refusal, with its place in the scenario.
func whyRefused(refused *wasmhost.ConfigurationRefusedError) string {
	for _, line := range refused.Lines {
		if reason, found := RefusalReason(line.Message); found {
			return reason
		}
	}
	return refused.Error()
}

// RefusalReason finds the plugin's reason for a refusal in a line of its log, with its place in
// the scenario.
func RefusalReason(logLine string) (reason string, found bool) {
	_, reason, found = strings.Cut(logLine, "endpoint-breaker config refused: ")
	return inPlugin(reason), found
}

// NoteRefusal counts a refused configuration and keeps the reasons of the first ones.
func (r *Result) NoteRefusal(now time.Duration, why string) {
	const kept = 3
	r.ConfigurationsRefused++
	if len(r.whyRefused) < kept {
		r.whyRefused = append(r.whyRefused, fmt.Sprintf("at %s %s", shown(now), why))
	}
}

// warnings are those of the plugin about its configurations. Each VM gives them anew; here
// they are once each.
func (r *Result) warnings() []string {
	var warnings []string
	for _, line := range r.PluginLog {
		_, warning, found := strings.Cut(line, "endpoint-breaker config warning: ")
		if found && !slices.Contains(warnings, inPlugin(warning)) {
			warnings = append(warnings, inPlugin(warning))
		}
	}
	return warnings
}

// inPlugin makes the place in the configuration that the text begins with one in the file.
func inPlugin(text string) string {
	if ofTheWhole, found := strings.CutPrefix(text, "configuration: "); found {
		return "plugin: " + ofTheWhole
	}
	return "plugin." + text
}
