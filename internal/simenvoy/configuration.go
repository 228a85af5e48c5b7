package simenvoy

import (
	"encoding/json"
	"strings"
	"time"
)

// The plugin's defaults that are durations, and two limits.
const (
	defaultSlowThreshold = 70 * time.Second
	defaultDedupWindow   = 5 * time.Second
	defaultConfirmWindow = 5 * time.Minute
	defaultBlockTTL      = 45 * time.Second
	defaultCheckInterval = 500 * time.Millisecond
	leastCheckInterval   = 100 * time.Millisecond
	mostConfirmWindow    = 10 * time.Minute
)

const (
	rulesKey         = "_rules_"
	checkIntervalKey = "check_interval"
	dedupWindowKey   = "dedup_window"
	confirmWindowKey = "confirm_window"
)

// object is a JSON object, read no further than needed.
type object map[string]json.RawMessage

// limitGuard is by how much what comes exactly at a limit in the file may come earlier or later
// in reality, and be on the same side of it: limits are reached, not passed.
const limitGuard = 25 * time.Millisecond

// scaled is the plugin's configuration of a scenario with every duration in it divided, defaults
// included. check_interval does not get below its least, and the two windows are a little
// shorter and longer (limitGuard). What is wrong with the configuration stays wrong.
func scaled(plugin json.RawMessage, scale int) json.RawMessage {
	top := object{}
	if len(plugin) > 0 && json.Unmarshal(plugin, &top) != nil {
		return plugin
	}
	if top == nil { // null
		top = object{}
	}
	var rules []object
	if given, found := top[rulesKey]; found && json.Unmarshal(given, &rules) != nil {
		return plugin
	}
	if len(rules) > 0 && len(top) == 1 {
		// Nothing but rules: all other requests are left alone, and go on to be when there is
		// more at the top.
		top.fill("mode", "off")
		for _, rule := range rules {
			rule.fill("mode", "enforce")
		}
	}
	top.fillDefaults()
	for _, part := range append(rules, top) {
		part.divide(scale)
	}
	if len(rules) > 0 {
		top[rulesKey] = encoded(rules)
	}
	return encoded(top)
}

// fillDefaults says what the plugin would take for granted. Those that are left out follow
// another one of the same rule.
func (o object) fillDefaults() {
	for key, value := range map[string]time.Duration{
		"slow_threshold": defaultSlowThreshold,
		dedupWindowKey:   defaultDedupWindow,
		confirmWindowKey: defaultConfirmWindow,
		"block_ttl":      defaultBlockTTL,
		checkIntervalKey: defaultCheckInterval,
	} {
		o.fill(key, value.String())
	}
}

func (o object) fill(key, value string) {
	if _, found := o[key]; !found {
		o[key] = encoded(value)
	}
}

// divide divides all values that are durations.
func (o object) divide(scale int) {
	for key, value := range o {
		given, isDuration := duration(value)
		if !isDuration || strings.HasPrefix(key, "_") {
			continue
		}
		divided := given / time.Duration(scale)
		switch {
		case key == checkIntervalKey && given >= leastCheckInterval:
			divided = max(divided, leastCheckInterval)
		case key == dedupWindowKey:
			divided -= min(limitGuard, divided/2)
		case key == confirmWindowKey && divided > 0 && divided <= mostConfirmWindow-limitGuard:
			divided += limitGuard
		}
		o[key] = encoded(divided.String())
	}
}

// checkInterval is how often the plugin looks at requests in flight, by a configuration that it
// accepts; 0 = not at all.
func checkInterval(plugin json.RawMessage) time.Duration {
	top := object{}
	if json.Unmarshal(plugin, &top) == nil {
		if given, isDuration := duration(top[checkIntervalKey]); isDuration {
			return given
		}
	}
	return defaultCheckInterval
}

func duration(value json.RawMessage) (d time.Duration, isDuration bool) {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}

// encoded is JSON of what always encodes.
func encoded(value any) json.RawMessage {
	raw, _ := json.Marshal(value)
	return raw
}
