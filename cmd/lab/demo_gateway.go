package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"endpoint-breaker/internal/demo"
	"endpoint-breaker/internal/envoy"
)

// The values of --gateway.
const (
	gatewayAuto     = "auto"
	gatewayEnvoy    = "envoy"
	gatewayEmbedded = "embedded"
)

// The plugin's builds, as `make build` leaves them.
const (
	envoyWasm    = "dist/endpoint-breaker-envoy.wasm"
	embeddedWasm = "dist/endpoint-breaker.wasm"
)

// checkGateway tells which flags contradict each other.
func (f demoFlags) checkGateway() error {
	switch f.gateway {
	case gatewayEnvoy, gatewayEmbedded:
		return nil
	case gatewayAuto:
		if f.wasm != "" {
			return fmt.Errorf("wasm: %s given, and each gateway takes a build of its own: name it, --gateway envoy or --gateway embedded", f.wasm)
		}
		return nil
	default:
		return fmt.Errorf("gateway: %q given, want auto, envoy or embedded", f.gateway)
	}
}

// play plays on the gateway that was asked for. If that was left open, it is Envoy, or the
// embedded one where Envoy cannot be had.
func (f demoFlags) play(ctx context.Context, out io.Writer, o demo.Options) (*demo.Recording, error) {
	if f.gateway == gatewayEmbedded {
		return playOn(ctx, out, o, demo.Embedded, cmp.Or(f.wasm, embeddedWasm), "")
	}
	wasm := cmp.Or(f.wasm, envoyWasm)
	why := envoyMissing(wasm)
	if why == nil {
		recording, err := playOn(ctx, out, o, demo.Envoy, wasm, "")
		if !errors.As(err, new(*demo.UnavailableError)) {
			return recording, err
		}
		why = err
	}
	if f.gateway == gatewayEnvoy {
		return nil, why
	}
	because, _, _ := strings.Cut(why.Error(), "\n") // what follows is Envoy's log
	return playOn(ctx, out, o, demo.Embedded, embeddedWasm, ", because "+because)
}

// envoyMissing tells what Envoy lacks to be started.
func envoyMissing(wasm string) error {
	if _, err := envoy.Binary(); err != nil {
		return err
	}
	return pluginMissing(wasm)
}

func pluginMissing(wasm string) error {
	_, err := os.Stat(wasm)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not there: run `make build`", wasm)
	}
	return err
}

func playOn(ctx context.Context, out io.Writer, o demo.Options, gateway demo.Gateway, wasm, because string) (*demo.Recording, error) {
	if err := pluginMissing(wasm); err != nil {
		return nil, err
	}
	o.Gateway, o.Wasm = gateway, wasm
	fmt.Fprintf(out, "gateway: %s%s\n", gateway.With(o.Workers), because)
	return demo.Run(ctx, o)
}
