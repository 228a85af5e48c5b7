package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"endpoint-breaker/internal/blocklist"
	"endpoint-breaker/internal/wasmhost"
)

const cluster = "outbound|443||llm.dns"

// gateway is one run: the plugin, its hosts, and the requests on their way.
type gateway struct {
	random
	setup       setup
	clock       *wasmhost.VirtualClock
	plugin      *wasmhost.Plugin
	reconfigure func(configuration string) error
	events      events

	hosts []*host
	robin int // of Envoy's balancing
	left  int // requests still to come
	open  map[*exchange]bool

	playing *exchange // whose callback runs
	result  Result
	err     error
}

func (g *gateway) now() time.Duration { return g.clock.Monotonic() }

func (g *gateway) after(d time.Duration, act func()) { g.events.at(g.now()+d, act) }

// failed ends the run: an order of calls that cannot be is a mistake of this package.
func (g *gateway) failed(err error) { g.err = cmp.Or(g.err, err) }

// played counts a situation, so that a test can tell that it came up.
func (g *gateway) played(what string) { g.result.Played[what]++ }

// listed is the cluster as Higress shows it to the plugin.
func (g *gateway) listed() []wasmhost.Host {
	var listed []wasmhost.Host
	for _, h := range g.hosts {
		if h.away {
			continue
		}
		health := "Healthy"
		if h.sick {
			health = "Unhealthy"
		}
		listed = append(listed, wasmhost.Host{Address: h.address, Health: health})
	}
	return listed
}

// play lets everything happen, and stops some time after the last request has come.
func (g *gateway) play() {
	g.arrive()
	g.tick()
	g.look()
	g.change()
	end := never
	for g.err == nil {
		e, found := g.events.next()
		if !found || end != never && e.when > end {
			return
		}
		g.clock.Advance(e.when - g.now())
		e.act()
		if g.left == 0 && end == never {
			end = g.now() + 4*g.setup.longest()
		}
	}
}

// arrive starts the next request and draws when the one after it comes.
func (g *gateway) arrive() {
	if g.left == 0 {
		return
	}
	g.left--
	g.start(g.plan(g.setup), g.IntN(g.setup.workers))
	g.after(time.Duration(g.ExpFloat64()/g.setup.rate*float64(time.Second)), g.arrive)
}

// tick runs the ticks of all VMs when they are due.
func (g *gateway) tick() {
	period := g.plugin.Worker(0).TickPeriod()
	if period == 0 { // until a new configuration has ticks
		g.after(time.Second, g.tick)
		return
	}
	g.failed(g.plugin.Base().Tick())
	for i := range g.plugin.Workers() {
		g.failed(g.plugin.Worker(i).Tick())
	}
	g.after(period, g.tick)
}

// change has a host leave and come back, or its health change, and now and then the
// configuration.
func (g *gateway) change() {
	h, while := oneOf(g.random, g.hosts...), g.between(0.1, 2, g.setup.longest())
	switch p := g.Float64(); {
	case p < 0.3:
		h.away = true
		g.after(while, func() { h.away = false })
	case p < 0.6:
		h.sick = true
		g.after(while, func() { h.sick = false })
	case p < 0.62:
		g.failed(g.reconfigure(g.configure(g.setup)))
		g.played("a new configuration")
	}
	g.after(g.between(0, 4, g.setup.longest()), g.change)
}

// look notes, once a second, who is blocked.
func (g *gateway) look() {
	value, _, _ := g.plugin.SharedData().Get(blocklist.Key)
	entries, err := blocklist.Parse(value)
	g.failed(err)
	for _, e := range entries {
		if e.Until > g.now() {
			g.result.blocked[e.Endpoint]++
		}
	}
	g.after(time.Second, g.look)
}

// hear reads the plugin's log for blocks.
func (g *gateway) hear(line wasmhost.LogLine) {
	_, fields, found := strings.Cut(line.Message, "endpoint-breaker block ")
	if !found {
		return
	}
	b := Block{At: g.now() - begins, Endpoint: field(fields, "endpoint"), Reason: field(fields, "reason")}
	if b.Endpoint != g.result.Slow {
		b.Suspects = g.suspects(b.Endpoint)
	}
	g.result.Blocks = append(g.result.Blocks, b)
}

// field reads the value of key=value.
func field(fields, key string) string {
	for _, f := range strings.Fields(fields) {
		if value, found := strings.CutPrefix(f, key+"="); found {
			return value
		}
	}
	return ""
}

// suspects tells of the exchanges that can have been the reason for a block: the one whose
// callback runs, or those of the endpoint that a tick can have looked at.
func (g *gateway) suspects(endpoint string) []string {
	if g.playing != nil {
		return []string{g.playing.String()}
	}
	var told []string
	for x := range g.open {
		if x.shown() == endpoint && x.completed != never && g.now()-x.completed >= g.setup.shortest() {
			told = append(told, x.String())
		}
	}
	slices.Sort(told)
	return told[:min(len(told), 5)]
}

// String tells what has happened to the exchange.
func (x *exchange) String() string {
	text := fmt.Sprintf("stream %d of worker %d: %+v; began %s ago", x.stream.ID(), x.worker, x.plan, x.now()-x.began)
	if x.completed != never {
		text += fmt.Sprintf(", complete %s ago", x.now()-x.completed)
	}
	for i, a := range x.attempts {
		text += fmt.Sprintf("; attempt %d at %s %s ago, over=%t: %+v", i+1, a.host.address, x.now()-a.began, a.over, a.behaviour)
	}
	return text
}

// shown is the host that Envoy shows the plugin.
func (x *exchange) shown() string {
	switch {
	case x.winner != nil:
		return x.winner.host.address
	case len(x.attempts) > 0:
		return x.attempts[len(x.attempts)-1].host.address
	default:
		return ""
	}
}
