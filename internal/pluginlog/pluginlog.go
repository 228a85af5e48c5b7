// Package pluginlog reads the plugin's own lines out of a gateway's log. Where the shared
// data cannot be looked at, which is so on a real Envoy, they are the only place that tells
// of every block.
package pluginlog

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Block is what one line tells of a block. The line has no time of its own: the block began
// (or, if Extended, was made longer) when the line was written, and ends For after that.
type Block struct {
	Mode     string // enforce, or observe: that one steers nothing
	Cluster  string
	Endpoint string // ip:port
	For      time.Duration
	Strikes  int
	Reason   string // what was measured: headers, first_chunk, in_flight, timeout, aborted or stalled
	Extended bool   // an `extend` line: of those the plugin writes one in ten seconds and cluster
}

const (
	block  = "endpoint-breaker block "
	extend = "endpoint-breaker extend "
)

// fields are those of both lines, as the plugin's `report` writes them.
var fields = regexp.MustCompile(`^mode=(\S+) cluster=("(?:[^"\\]|\\.)*") endpoint=(\S+) for=(\S+) strikes=(\d+) reason=(\S+)(?: |$)`)

// ParseBlock reads a message of the log, with or without what the plugin's SDK and the
// gateway put before the plugin's own words. A message about something else is not found; one
// about a block that cannot be read is an error, which shows it.
func ParseBlock(message string) (b Block, found bool, err error) {
	_, text, found := strings.Cut(message, block)
	if !found {
		_, text, b.Extended = strings.Cut(message, extend)
	}
	if !found && !b.Extended {
		return Block{}, false, nil
	}
	match := fields.FindStringSubmatch(text)
	if match == nil {
		return Block{}, false, fmt.Errorf("log line of the plugin: got %q, want mode, cluster, endpoint, for, strikes and reason in this order", message)
	}
	b.Mode, b.Endpoint, b.Reason = match[1], match[3], match[6]
	if b.Cluster, err = strconv.Unquote(match[2]); err != nil {
		return Block{}, false, fmt.Errorf("log line of the plugin: cluster: got %s, want a quoted string", match[2])
	}
	if b.For, err = time.ParseDuration(match[4]); err != nil {
		return Block{}, false, fmt.Errorf("log line of the plugin: for: got %q, want a duration", match[4])
	}
	if b.Strikes, err = strconv.Atoi(match[5]); err != nil {
		return Block{}, false, fmt.Errorf("log line of the plugin: strikes: got %q, want a number", match[5])
	}
	return b, true, nil
}
