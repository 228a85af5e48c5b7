package main

import (
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm"
	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm/types"
	"github.com/tidwall/gjson"
)

// vm is the state of one worker, or of the base VM, that outlives a configuration.
type vm struct {
	types.VMContext // the wrapper's

	meters    *meters
	logs      *logs
	rawPanics bool // WASM_DISABLE_PANIC_RECOVERY: a panic traps the VM and shows its stack

	current  *stream   // whose headers the wrapper is matching
	starting *settings // what the wrapper is being started with, and how far it has come
	handed   int

	ttlLimits ttlLimits
}

// matchedConfig is the wrapper's plugin configuration. It copies this by value, so it is one
// pointer, which is also the rule's identity.
type matchedConfig struct{ rule *rule }

// handOutGlobal and handOutRule are the wrapper's configuration callbacks. It has nothing left
// to parse: it calls them for the parts of a configuration that parseSettings has understood.
func (v *vm) handOutGlobal(_ []byte, c *matchedConfig) error {
	c.rule = v.starting.global
	return nil
}

func (v *vm) handOutRule(_ []byte, _ matchedConfig, c *matchedConfig) error {
	c.rule = v.starting.rules[v.handed]
	v.handed++
	return nil
}

func (v *vm) NewPluginContext(contextID uint32) types.PluginContext {
	return &plugin{
		PluginContext: v.VMContext.NewPluginContext(contextID),
		vm:            v,
		meters:        v.meters,
		logs:          v.logs,
	}
}

// plugin is one configuration in one VM. After a configuration change the old one finishes its
// streams beside the new one.
type plugin struct {
	types.PluginContext // the wrapper's

	vm       *vm
	meters   *meters
	logs     *logs
	settings *settings

	breaker  *breaker
	selector *selector
	inflight inflight
	upstream upstream

	warnedOfTimeouts map[*rule]bool // those that end requests before they can be late
}

// OnPluginStart refuses a wrong configuration as a whole. On a change Envoy then keeps the old
// one serving; at a first start it does not create the listener.
func (p *plugin) OnPluginStart(configurationSize int) types.OnPluginStartStatus {
	defer p.recovered("plugin_start")
	configuration, err := proxywasm.GetPluginConfiguration()
	if err != nil && !errors.Is(err, types.ErrorStatusNotFound) {
		p.logs.always(logConfig, "refused: reading the plugin configuration: %v", err)
		return types.OnPluginStartStatusFailed
	}
	p.settings, err = parseSettings(configuration)
	if err != nil {
		p.logs.always(logConfig, "refused: %v", err)
		return types.OnPluginStartStatusFailed
	}
	p.vm.starting, p.vm.handed = p.settings, 0
	if wrapperCanStart(configuration) && p.PluginContext.OnPluginStart(configurationSize) == types.OnPluginStartStatusFailed {
		p.logs.always(logConfig, "refused by the wasm-go wrapper, see its lines above")
		return types.OnPluginStartStatusFailed
	}
	return p.start()
}

// wrapperCanStart reports whether the wrapper has anything to match by. It refuses a
// configuration of nothing but an empty _rules_, which for us is {}: the global rule, for all.
func wrapperCanStart(configuration []byte) bool {
	root := gjson.ParseBytes(configuration)
	rules := root.Get(rulesKey)
	return !rules.Exists() || len(rules.Array()) > 0 || hasGlobalPart(root)
}

// start sets the breaker up under settings that were accepted.
func (p *plugin) start() types.OnPluginStartStatus {
	for _, warning := range p.settings.warnings {
		p.logs.always(logConfig, "warning: %s", warning)
	}
	name, err := property("plugin_name")
	if err != nil {
		p.hostCallFailed(err, monotonicNow())
	}
	p.vm.ttlLimits.set(string(name), p.settings.longestBlockTTL())
	store := newBlockStore(hostSharedData{}, p.documentDamaged)
	random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	p.breaker = newBreaker(store, p.settings.longestThreshold(), p.vm.ttlLimits.of(string(name)), random.Float64)
	p.selector = newSelector(random)
	p.upstream = newUpstream(p)
	p.warnedOfTimeouts = map[*rule]bool{}
	if now := monotonicNow(); now != unknown {
		conflicts, err := store.seed(now, p.vm.ttlLimits.longest())
		p.sharedDataUsed(conflicts, err, now)
	}
	if every := p.settings.checkInterval; every > 0 {
		if err := proxywasm.SetTickPeriodMilliSeconds(uint32(every / time.Millisecond)); err != nil {
			p.logs.always(logConfig, "refused: check_interval=%s: setting the tick period: %v", every, err)
			return types.OnPluginStartStatusFailed
		}
	}
	p.logs.expected(logConfig, "accepted version=%s %s", version, p.settings)
	return types.OnPluginStartStatusOK
}

// OnTick takes the place of the wrapper's: its ticks run on the wall clock, and a jump back
// would stop them.
func (p *plugin) OnTick() {
	defer p.recovered("tick")
	p.onTick(monotonicNow())
}

func (p *plugin) NewHttpContext(contextID uint32) types.HttpContext {
	inner := p.PluginContext.NewHttpContext(contextID)
	return &stream{HttpContext: inner, plugin: p, request: newRequest(contextID)}
}

// hostCallFailed counts and logs what a host call answered. The request that needed it goes on
// without. The error's text up to the first colon says which call it was.
func (p *plugin) hostCallFailed(err error, now instant) {
	p.meters.gateway(metricHostCallErrors, 1)
	call, _, _ := strings.Cut(err.Error(), ":")
	p.logs.limited(logError, call, now, "%v", err)
}

// documentDamaged counts and logs a value in SharedData that could not be believed; the next
// write replaces it.
func (p *plugin) documentDamaged(damage error) {
	p.meters.gateway(metricSharedDataDamaged, 1)
	p.logs.always(logError, "treated as empty: %v", damage)
}
