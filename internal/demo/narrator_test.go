package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// placed is a state with three endpoints that have got so many requests.
func placed(t *testing.T, now time.Duration, a, b, c int, events ...Event) State {
	t.Helper()
	s := stateAt(t, now, Healthy, events...)
	s.Setting = Setting{Plan: s.Setting.Plan, URL: "http://gateway", Workers: 2, Rate: 40, Slow: "gpu-b"}
	s.Endpoints = []EndpointState{
		{Name: "gpu-a", Address: "10.0.0.1:80", Placed: a, Waiting: 2},
		{Name: "gpu-b", Address: "10.0.0.2:80", Placed: b, Waiting: 1},
		{Name: "gpu-c", Address: "10.0.0.3:80", Placed: c},
	}
	return s
}

func TestTheNarratorTellsEachEventOnceAndTheTrafficEverySecond(t *testing.T) {
	var out strings.Builder
	n := &narrator{to: &out, last: placed(t, 0, 0, 0, 0)}
	log := Event{Text: "log of worker 0: endpoint-breaker block endpoint=10.0.0.2:80"}
	fault := Event{At: 1100 * ms, Kind: EventFault, Text: "gpu-b turns slow"}
	n.hear(placed(t, 950*ms, 9, 9, 9))
	n.hear(placed(t, 1000*ms, 10, 10, 20))
	n.hear(placed(t, 1150*ms, 11, 11, 21, fault))
	n.hear(placed(t, 1900*ms, 20, 20, 30, fault))
	n.hear(placed(t, 2000*ms, 40, 10, 20, fault, log))
	assert.Equal(t, `    1.0 s  healthy    40.0 req/s   gpu-a  25 %  gpu-b  25 %  gpu-c  50 %   waiting 3
    1.1 s  ► gpu-b turns slow
    2.0 s  healthy    30.0 req/s   gpu-a 100 %  gpu-b   0 %  gpu-c   0 %   waiting 3
             log of worker 0: endpoint-breaker block endpoint=10.0.0.2:80
`, out.String())
}

func TestTheLogTellsTheSettingAndEveryEvent(t *testing.T) {
	var out strings.Builder
	WriteLog(&out, placed(t, 9*time.Second, 1, 2, 3, Event{At: 5 * time.Second, Kind: EventFault, Text: "gpu-b turns slow"}))
	assert.Equal(t, `three model servers behind http://gateway: 10.0.0.1:80, 10.0.0.2:80, 10.0.0.3:80
clients: 40 requests/s, timing: 10 times faster than deployed: slow_threshold 7s stands for 70s, block_ttl 4.5s for 45s
plugin: slow_threshold 7s, dedup_window 0.5s, confirm_count 2, block_ttl 4.5s, check_interval 0.1s; about 22 s in all

    5.0 s  ► gpu-b turns slow
`, out.String())
}
