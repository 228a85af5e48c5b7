package compare

import (
	"encoding/json"
	"maps"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The names of set-ups that others refer to.
const (
	Nothing      = "nothing"
	Breaker      = "breaker"
	softName     = "soft-timeouts"
	defaultsName = "breaker-defaults"
)

// Setup is one way to run the same Envoy in front of the same endpoints.
type Setup struct {
	Name        string
	Description Words
	Ours        bool // our plugin is part of it
	// configure changes what all set-ups begin with: a route without a timeout and a cluster
	// with round robin.
	configure func(*gatewayConfig, Fault)
}

// gatewayConfig is the part of an Envoy's configuration in which set-ups differ.
type gatewayConfig struct {
	route   *routev3.RouteAction
	cluster *clusterv3.Cluster
	plugin  string // our plugin's configuration; "" = the plugin is not loaded
}

// Setups are those that are compared, the breaker last.
func Setups() []Setup {
	return []Setup{
		{
			Name: Nothing,
			Description: Words{
				"round robin, no timeout: what a route does that nobody has thought about",
				"轮询，不设超时：没人管过的路由就是这样",
			},
			configure: func(*gatewayConfig, Fault) {},
		},
		{
			Name: "usual-advice",
			Description: Words{
				"outlier detection (5 × 5xx in a row, at most half of the hosts) with a response timeout of the threshold on the route, which makes a 504 of each slow answer; the headers of a stream come in time, count as a success and begin the count anew",
				"离群检测（连续 5 个 5xx，最多摘除一半主机），路由响应超时等于慢阈值，于是每个慢响应都变成 504；流式响应头准时到达，算一次成功，计数随之归零",
			},
			configure: func(c *gatewayConfig, _ Fault) { usualAdvice(c) },
		},
		{
			Name: softName,
			Description: Words{
				"outlier detection with soft timeouts, the strongest that a stock Envoy offers: `per_try_idle_timeout` of the threshold with `hedge_on_per_try_timeout` and no retry tells outlier detection of the late answer while the request goes on; 2 in a row eject, for as long as a block, and longer when it happens again soon",
				"离群检测加软超时，原生 Envoy 能做到的最强配置：`per_try_idle_timeout` 等于慢阈值，配 `hedge_on_per_try_timeout` 且不重试，迟到会报给离群检测，而请求继续；连续 2 次即摘除，时长与拉黑相同，短期内再犯则更长",
			},
			configure: func(c *gatewayConfig, _ Fault) { softTimeouts(c) },
		},
		{
			Name: "least-request",
			Description: Words{
				"least-request balancing alone: of two hosts drawn at random the one with fewer requests in flight",
				"只用最少请求负载均衡：随机抽两台主机，取在途请求较少的一台",
			},
			configure: func(c *gatewayConfig, _ Fault) { c.cluster.LbPolicy = clusterv3.Cluster_LEAST_REQUEST },
		},
		{
			Name: "tuned-outlier",
			Description: Words{
				"outlier detection tuned against false alarms: 15 × 5xx in a row, errors of the network counted apart, panic threshold 20 %, and `max_stream_duration` of the threshold on the route, which outlier detection does not hear of",
				"为避免误判而调过的离群检测：连续 15 个 5xx，网络错误单独计数，恐慌阈值 20 %，路由 `max_stream_duration` 等于慢阈值，而离群检测并不知道它",
			},
			configure: func(c *gatewayConfig, _ Fault) { tunedOutlier(c) },
		},
		{
			Name: "breaker-headers",
			Description: Words{
				"this breaker in its simplest form: `measure: headers`, `check_interval: 0s`, so an answer counts when its headers come, and a request without one when it ends",
				"本断路器最简单的形态：`measure: headers`、`check_interval: 0s`，响应头到了才计数，没有响应的请求到结束时计数",
			},
			Ours: true,
			configure: func(c *gatewayConfig, _ Fault) {
				c.plugin = pluginConfiguration(map[string]any{"measure": "headers", "check_interval": "0s"})
			},
		},
		{
			Name: defaultsName,
			Description: Words{
				"this breaker with its defaults, scaled",
				"本断路器，默认配置（按比例缩放）",
			},
			Ours: true,
			configure: func(c *gatewayConfig, _ Fault) {
				c.plugin = pluginConfiguration(map[string]any{"check_interval": checkInterval.String()})
			},
		},
		{
			Name: Breaker,
			Description: Words{
				"this breaker with what is off by default and fits a cluster of model servers: `return: probation`, `block_ttl_max: 5m`, `evidence: shared`, `stall_threshold: 70s`; a fault's section names what is added for it",
				"本断路器，并打开默认关闭、但适合模型服务集群的几项：`return: probation`、`block_ttl_max: 5m`、`evidence: shared`、`stall_threshold: 70s`；某个故障另加的项写在该故障一节里",
			},
			Ours: true,
			configure: func(c *gatewayConfig, f Fault) {
				keys := map[string]any{
					"check_interval":  checkInterval.String(),
					"return":          "probation",
					"block_ttl_max":   blockTTLMax.String(),
					"evidence":        "shared",
					"stall_threshold": slowThreshold.String(),
				}
				maps.Copy(keys, f.Keys)
				c.plugin = pluginConfiguration(keys)
			},
		},
	}
}

// usualAdvice is what guides to service meshes say: consecutive errors, and a timeout that
// makes errors of slow answers.
func usualAdvice(c *gatewayConfig) {
	c.route.Timeout = durationpb.New(slowThreshold)
	c.cluster.OutlierDetection = &clusterv3.OutlierDetection{
		Consecutive_5Xx:           wrapperspb.UInt32(5),
		ConsecutiveGatewayFailure: wrapperspb.UInt32(5),
		Interval:                  durationpb.New(10 * time.Second / Scale),
		BaseEjectionTime:          durationpb.New(30 * time.Second / Scale),
		MaxEjectionPercent:        wrapperspb.UInt32(50),
	}
}

// softTimeouts reports a late answer without ending it. An ejection lasts as long as a block
// does, and grows when another one follows soon. How soon is the interval's doing: with one
// much shorter than Envoy's own 10 s it hardly ever grows, and more requests land.
func softTimeouts(c *gatewayConfig) {
	c.route.Timeout = durationpb.New(600 * time.Second / Scale)
	c.route.RetryPolicy = &routev3.RetryPolicy{
		RetryOn:           "reset",
		NumRetries:        wrapperspb.UInt32(0),
		PerTryIdleTimeout: durationpb.New(slowThreshold),
	}
	c.route.HedgePolicy = &routev3.HedgePolicy{HedgeOnPerTryTimeout: true}
	c.cluster.OutlierDetection = &clusterv3.OutlierDetection{
		Consecutive_5Xx:    wrapperspb.UInt32(2),
		Interval:           durationpb.New(10 * time.Second / Scale),
		BaseEjectionTime:   durationpb.New(blockTTL),
		MaxEjectionTime:    durationpb.New(blockTTLMax),
		MaxEjectionPercent: wrapperspb.UInt32(100),
	}
	c.cluster.CommonLbConfig = &clusterv3.Cluster_CommonLbConfig{HealthyPanicThreshold: &typev3.Percent{Value: 1}}
}

// tunedOutlier is the advice after an avalanche of ejections: count more, count what the
// network did apart, and give up on ejections late.
func tunedOutlier(c *gatewayConfig) {
	c.route.MaxStreamDuration = &routev3.RouteAction_MaxStreamDuration{MaxStreamDuration: durationpb.New(slowThreshold)}
	c.cluster.OutlierDetection = &clusterv3.OutlierDetection{
		Consecutive_5Xx:                wrapperspb.UInt32(15),
		SplitExternalLocalOriginErrors: true,
		Interval:                       durationpb.New(10 * time.Second / Scale),
		BaseEjectionTime:               durationpb.New(30 * time.Second / Scale),
		MaxEjectionPercent:             wrapperspb.UInt32(50),
	}
	c.cluster.CommonLbConfig = &clusterv3.Cluster_CommonLbConfig{HealthyPanicThreshold: &typev3.Percent{Value: 20}}
}

// pluginConfiguration is our plugin's with the defaults, scaled, and what differs from them.
func pluginConfiguration(differs map[string]any) string {
	configuration := map[string]any{
		"slow_threshold": slowThreshold.String(),
		"dedup_window":   dedupWindow.String(),
		"confirm_count":  2,
		"confirm_window": confirmWindow.String(),
		"block_ttl":      blockTTL.String(),
	}
	for key, value := range differs {
		configuration[key] = value
	}
	text, err := json.Marshal(configuration)
	if err != nil { // strings and a number
		panic(err)
	}
	return string(text)
}
