package tuning

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// configuration is the keys that a rule names.
type configuration []key

type key struct {
	name  string
	value any
}

// String is the configuration as YAML in one line.
func (c configuration) String() string {
	var keys []string
	for _, key := range c {
		keys = append(keys, fmt.Sprintf("%s: %v", key.name, key.value))
	}
	return strings.Join(keys, ", ")
}

func (c configuration) has(k key) bool { return slices.Contains(c, k) }

// What the tables compare.
func blockTTL() key    { return key{"block_ttl", "45s"} }
func longTTL() key     { return key{"block_ttl", "10m"} }
func growth() key      { return key{"block_ttl_max", "10m"} }
func jitter() key      { return key{"block_ttl_jitter_percent", 25} }
func probation() key   { return key{"return", "probation"} }
func byWorker() key    { return key{"evidence", "worker"} }
func allTogether() key { return key{"evidence", "shared"} }

// returns are the rows of the first table; the first is the default.
func returns() []configuration {
	return []configuration{
		{blockTTL()},
		{longTTL()},
		{growth()},
		{growth(), jitter()},
		{probation()},
		{growth(), probation()},
	}
}

// longestBlock is how long a host may be blocked at a time.
func (c configuration) longestBlock() time.Duration {
	if c.has(longTTL()) || c.has(growth()) {
		return 10 * time.Minute
	}
	return 45 * time.Second
}
