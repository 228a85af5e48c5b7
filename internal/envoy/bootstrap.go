package envoy

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	overloadv3 "github.com/envoyproxy/go-control-plane/envoy/config/overload/v3"
	connectionsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/downstream_connections/v3"
	"google.golang.org/protobuf/encoding/protojson"
)

const adminAddressFile = "admin-address"

// writeBootstrap writes the static configuration and returns the command line.
func writeBootstrap(folder string, d *discovery, s Setup) ([]string, error) {
	// Envoy warns at each start when nothing limits the connections of clients.
	limit, err := typed(&connectionsv3.DownstreamConnectionsConfig{MaxActiveDownstreamConnections: 1 << 20})
	if err != nil {
		return nil, err
	}
	bootstrap := &bootstrapv3.Bootstrap{
		Node:  &corev3.Node{Id: "endpoint-breaker", Cluster: "endpoint-breaker"},
		Admin: &bootstrapv3.Admin{Address: socketAddress("127.0.0.1:0")},
		DynamicResources: &bootstrapv3.Bootstrap_DynamicResources{
			LdsConfig: d.listener.source(),
			CdsConfig: d.clusters.source(),
		},
		OverloadManager: &overloadv3.OverloadManager{ResourceMonitors: []*overloadv3.ResourceMonitor{{
			Name:       "envoy.resource_monitors.global_downstream_max_connections",
			ConfigType: &overloadv3.ResourceMonitor_TypedConfig{TypedConfig: limit},
		}}},
	}
	json, err := protojson.Marshal(bootstrap)
	if err != nil {
		return nil, fmt.Errorf("the bootstrap configuration: %w", err)
	}
	path := filepath.Join(folder, "bootstrap.json")
	if err := os.WriteFile(path, json, 0o600); err != nil {
		return nil, fmt.Errorf("the bootstrap configuration: %w", err)
	}
	return []string{
		"--config-path", path,
		"--concurrency", strconv.Itoa(s.Workers),
		"--admin-address-path", filepath.Join(folder, adminAddressFile),
		// Its shared memory would be in the way of other Envoys on the machine.
		"--disable-hot-restart",
		"--log-level", "warning",
		"--component-log-level", "wasm:info",
		"--log-format", logFormat,
		"--log-format-escaped",
		"--file-flush-interval-msec", "50",
		"--drain-time-s", strconv.Itoa(int(math.Ceil(s.DrainTime.Seconds()))),
		// A connection that was open before a change goes on with the old configuration for one
		// response, not for a random part of the drain time.
		"--drain-strategy", "immediate",
	}, nil
}

// adminAddress waits for the port that Envoy has found for its administration interface.
func (e *Envoy) adminAddress(ctx context.Context) (string, error) {
	var address string
	err := e.until(ctx, "Envoy's administration interface", func(context.Context) (bool, error) {
		content, err := os.ReadFile(filepath.Join(e.discovery.folder, adminAddressFile))
		address = strings.TrimSpace(string(content))
		return err == nil && address != "", err
	})
	return address, err
}
