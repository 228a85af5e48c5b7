package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"endpoint-breaker/internal/envoy"
	"endpoint-breaker/internal/sim"
	"endpoint-breaker/internal/simenvoy"
)

// simGateway is what scenarios are played on.
type simGateway struct {
	name  string // gatewayEmbedded or gatewayEnvoy
	scale int    // of the real time
	wasm  string // "" = the gateway's own build
}

func (g simGateway) check(scaleGiven bool) error {
	switch {
	case g.name != gatewayEmbedded && g.name != gatewayEnvoy:
		return fmt.Errorf("gateway: %q given, want embedded or envoy", g.name)
	case g.name == gatewayEmbedded && scaleGiven:
		return errors.New("scale: goes with --gateway envoy only; the embedded gateway plays in virtual time")
	case g.scale < 1 || g.scale > simenvoy.MaxScale:
		return fmt.Errorf("scale: %d given, want 1 to %d", g.scale, simenvoy.MaxScale)
	default:
		return nil
	}
}

// load makes sure that the gateway is there, and reads the plugin if it is the embedded one.
func (g simGateway) load() (plugin []byte, err error) {
	if g.name == gatewayEmbedded {
		plugin, err = os.ReadFile(g.file())
	} else {
		if _, err := envoy.Binary(); err != nil {
			return nil, err
		}
		_, err = os.Stat(g.file())
	}
	if err != nil {
		return nil, fmt.Errorf("%w (make build makes %s and %s)", err, embeddedWasm, envoyWasm)
	}
	return plugin, nil
}

// file is where the plugin is.
func (g simGateway) file() string {
	if g.name == gatewayEnvoy {
		return cmp.Or(g.wasm, envoyWasm)
	}
	return cmp.Or(g.wasm, embeddedWasm)
}

func (p *simPlayer) playOnce(ctx context.Context, scenario *sim.Scenario, workers int, seed uint64) (*sim.Result, error) {
	if p.gateway.name == gatewayEnvoy {
		return simenvoy.Play(ctx, scenario, simenvoy.Options{
			Wasm: p.gateway.file(), Workers: workers, Seed: seed, Scale: p.gateway.scale,
			Log: p.log, Progress: p.progressOf(scenario),
		})
	}
	return sim.Run(ctx, scenario, sim.Options{
		Wasm: p.plugin, Workers: workers, Seed: seed, Log: p.log, Progress: p.progressOf(scenario),
	})
}
