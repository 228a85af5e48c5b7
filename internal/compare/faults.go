package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"endpoint-breaker/internal/modelserver"
)

// Fault is something that happens to the endpoints, or to the traffic, from Timeline.Fault
// until Timeline.Heal.
type Fault struct {
	Name        string
	Title       Words
	Description Words
	// Faulty are the endpoints it happens to; none = it is in the traffic.
	Faulty []int
	// OneByOne is one client that sends its next request after its last one's answer;
	// else many clients send theirs whatever became of the others'.
	OneByOne bool
	// StreamsOnly makes all requests ask for a stream, else streamedShare of them.
	StreamsOnly bool
	// LongPrompts is the share of requests with a prompt so long that a healthy endpoint is
	// late.
	LongPrompts float64
	// Keys are what an operator who knows of such traffic adds to the breaker's configuration.
	// nil = nothing.
	Keys map[string]any
	// inject does it to one of the endpoints. It is called again and again during the
	// fault, progress growing from 0 to 1. nil = nothing is done.
	inject func(server *modelserver.Server, progress float64)
}

// injectEvery is the time from one call of inject to the next.
const injectEvery = 250 * time.Millisecond

// slowIndex is the endpoint that has the fault where only one has.
const slowIndex = 1

// Faults are those that are compared.
func Faults() []Fault {
	one := []int{slowIndex}
	return []Fault{
		{
			Name:        "slow",
			Title:       Words{"One endpoint is slow", "一个端点变慢"},
			Description: Words{"Each answer's first token takes 4.75 s (95 s deployed)", "每个响应的首个 token 要 4.75 s（真实时间 95 s）"},
			Faulty:      one,
			inject:      slowDown,
		},
		{
			Name:        "hanging",
			Title:       Words{"One endpoint hangs", "一个端点挂起"},
			Description: Words{"Connections are accepted, headers of streams come, nothing else does", "连接照收，流式响应头照发，此外什么都没有"},
			Faulty:      one,
			inject:      func(server *modelserver.Server, _ float64) { server.Hang() },
		},
		{
			Name:        "all-slow",
			Title:       Words{"All endpoints are slow for 30 s", "所有端点同时变慢 30 s"},
			Description: Words{"As “slow”, but all three: nobody is left to take the traffic", "同 “slow”，但三个端点一起慢：没有人能接走流量"},
			Faulty:      []int{0, 1, 2},
			inject:      slowDown,
		},
		{
			Name:        "degrading",
			Title:       Words{"One endpoint slows down by degrees", "一个端点逐渐变慢"},
			Description: Words{"Its first token takes longer and longer, from nothing extra to 5.6 s (112 s deployed); half-way through it is still below the threshold", "首个 token 越来越慢，从正常一直到 5.6 s（真实时间 112 s）；走到一半时仍低于阈值"},
			Faulty:      one,
			inject: func(server *modelserver.Server, progress float64) {
				server.SlowDown(time.Duration(progress * 1.6 * float64(slowThreshold)))
			},
		},
		{
			Name:        "one-by-one",
			Title:       Words{"Always answering, but late", "总会应答，但总是迟到"},
			Description: Words{"As “slow”, but one client sends one request after another: each late answer is a 200, and fast ones of others lie in between", "同 “slow”，但只有一个客户端逐个发请求：每个迟到的响应都是 200，中间夹着其他端点的快响应"},
			Faulty:      one,
			OneByOne:    true,
			inject:      slowDown,
		},
		{
			Name:        "stall",
			Title:       Words{"One endpoint stalls in mid-stream", "一个端点在流中途停住"},
			Description: Words{"All requests are streams; three tokens come in time, then nothing", "请求全部是流式；前三个 token 准时到达，然后就没有了"},
			Faulty:      one,
			StreamsOnly: true,
			inject:      func(server *modelserver.Server, _ float64) { server.Stall(3) },
		},
		{
			Name:        "long-prompts",
			Title:       Words{"A share of the requests is slow on every endpoint", "每个端点都有一部分请求慢"},
			Description: Words{"Every endpoint is healthy; one request in ten has a prompt of 19,000 tokens and takes as long as one of a slow endpoint", "所有端点都健康；十分之一的请求带 19,000 token 的提示词，耗时与慢端点上的请求一样"},
			LongPrompts: 0.1,
			Keys:        map[string]any{"min_slow_percent": 30},
		},
	}
}

func slowDown(server *modelserver.Server, _ float64) { server.SlowDown(slowAnswer) }

// windows are how many requests in a row decide.
type windows struct {
	none int // that an endpoint gets none
	away int // that it is kept out, or has its share again
}

// windows are so long that chance is excluded. Of many clients' requests a block lets about
// 135 pass, and of 100 a least-request balancer, the most reluctant one, leaves a hanging
// endpoint out by chance once in a hundred thousand times. One client waits for its last late
// answer during half of the block, and then sends fewer.
func (f Fault) windows() windows {
	if f.OneByOne {
		return windows{none: 12, away: 24}
	}
	return windows{none: 100, away: 100}
}

func (f Fault) streams() float64 {
	if f.StreamsOnly {
		return 1
	}
	return streamedShare
}

// keys are the fault's as they stand in a configuration; "" = none.
func (f Fault) keys() string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(f.Keys)) {
		keys = append(keys, fmt.Sprintf("%s: %v", key, f.Keys[key]))
	}
	return strings.Join(keys, ", ")
}
