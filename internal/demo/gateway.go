package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"endpoint-breaker/internal/envoy"
)

// Gateway is what the story can be played on.
type Gateway int

// The gateways. Each takes a build of the plugin of its own.
const (
	Embedded Gateway = iota // internal/gateway, which behaves as Higress does
	Envoy                   // a real, stock Envoy as a child process
)

func (g Gateway) String() string {
	return [...]string{Embedded: "the embedded gateway", Envoy: "Envoy " + envoy.Version}[g]
}

// With names the gateway with its workers.
func (g Gateway) With(workers int) string {
	if workers == 1 {
		return fmt.Sprintf("%s with 1 worker", g)
	}
	return fmt.Sprintf("%s with %d workers", g, workers)
}

// running is a gateway with the plugin in it, from its start to its close.
type running interface {
	url() string
	// counters may be those of a moment ago.
	counters() Counters
	// close ends the last requests first, and everything else then. It is called once.
	close(ctx context.Context) error
}

// gatewaySetup is what a gateway is started with. The observer is called from any goroutine
// until close has returned.
type gatewaySetup struct {
	options  Options
	hosts    []string // addresses of the endpoints
	observer observer
}

// observer is told what can be seen of a gateway and its plugin.
type observer interface {
	// blocked tells of a block when it is there, and again with another end when it is
	// extended.
	blocked(seenBlock)
	// decided tells of every request when it is over.
	decided(requestID string, d decision)
	// logged is a line that the plugin wrote as a warning.
	logged(text string)
	// broken tells that the gateway cannot be understood any more.
	broken(error)
}

// seenBlock is a block as it is seen from outside the plugin.
type seenBlock struct {
	address      string
	since, until time.Time
	inexact      time.Duration // the block may have ended this much before until
	seen         time.Time     // it was there then at the latest, for every worker
	strikes      int
	reason       string
}

// decision is when the plugin decided about a request: between the two.
type decision struct{ began, ended time.Time }

// start leaves nothing running after an error.
func (g Gateway) start(ctx context.Context, s gatewaySetup) (running, error) {
	if g == Envoy {
		return startEnvoy(ctx, s)
	}
	return startEmbedded(ctx, s)
}

// cutPluginName leaves of a message what the plugin itself has to say, keyword and all; of
// one from somebody else, everything.
func cutPluginName(message string) string {
	const before, name = "] ", "endpoint-breaker "
	if i := strings.Index(message, before+name); i >= 0 {
		return message[i+len(before):]
	}
	return message
}
