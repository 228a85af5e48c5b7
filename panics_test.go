package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// run is a callback of the plugin in which something happens.
func (p *plugin) run(what func()) {
	defer p.recovered("tick")
	what()
}

func TestAPanicEndsInALine(t *testing.T) {
	l, lines := recorded()
	p := &plugin{vm: &vm{}, meters: newMeters(), logs: l}
	p.run(func() { panic("out of\nluck") })
	if assert.Len(t, *lines, 1) {
		assert.Contains(t, (*lines)[0], `endpoint-breaker panic callback=tick cause="out of\nluck" stack="goroutine `)
	}
	p.run(func() {})
	assert.Len(t, *lines, 1)
}

func TestAPanicGoesOnWhereItsStackIsWanted(t *testing.T) {
	l, lines := recorded()
	p := &plugin{vm: &vm{rawPanics: true}, meters: newMeters(), logs: l}
	assert.PanicsWithValue(t, "out of luck", func() { p.run(func() { panic("out of luck") }) })
	assert.Empty(t, *lines)
}

func TestPanicsAreRecoveredUnlessTheEnvironmentSaysOtherwise(t *testing.T) {
	for value, disabled := range map[string]bool{"": false, "false": false, "1": false, "true": true} {
		t.Setenv("WASM_DISABLE_PANIC_RECOVERY", value)
		assert.Equal(t, disabled, panicRecoveryDisabled(), value)
	}
}
