package compare

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// second is a moment of a hand-made log.
func second(n int) time.Duration { return time.Duration(n) * time.Second }

// arrivals is a log with one request each second from 0 on: '0', '1' and '2' are the
// endpoints that it reached, any other sign is a second without one.
func arrivals(log string) []landing {
	var all []landing
	for i, endpoint := range log {
		if endpoint >= '0' && endpoint <= '2' {
			all = append(all, landing{second(i), int(endpoint - '0')})
		}
	}
	return all
}

// logged is the traffic of a log in which endpoint 1 has a fault from 3 s until 12 s and four
// requests in a row decide.
func logged(log string) *traffic {
	return &traffic{
		landings: arrivals(log), timeline: Timeline{Fault: second(3), Heal: second(12), End: second(24)},
		faulty: []int{1}, windows: windows{none: 4, away: 4},
	}
}

// 0  3        12
const usual = "012012012012012012012012"

func TestRequestsThatLandAreCountedWhileTheFaultLasts(t *testing.T) {
	for log, want := range map[string][2]int{
		usual:                      {3, 9},
		"111000000000111111111111": {0, 9},
		"000100000001000000000000": {2, 9}, // at the fault itself, and just before the healing
		"111.........111111111111": {0, 0},
	} {
		f := logged(log).measure()
		assert.Equal(t, want, [2]int{f.Landed, f.DuringFault}, log)
	}
}

func TestNoneIsTheFirstStretchWithoutARequestToTheSlowEndpoint(t *testing.T) {
	for log, want := range map[string]Wait{
		usual:                      {Never: true},
		"012012021020111111111111": {Never: true}, // three in a row are not enough
		"012010020200111111111111": {After: second(1)},
		"012012010200200200000000": {After: second(4)},
		"011000011111000000000000": {After: 0},    // none from the fault on
		"012012012010000000000000": {Never: true}, // the healing comes before four
		"012100001100001111111111": {After: 0},    // the first stretch, not the last one
		"0121.0.2.0.2111111111111": {After: 0},    // seconds are not requests
	} {
		assert.Equal(t, want, logged(log).measure().UntilNone, log)
	}
}

func TestWithoutOneSlowEndpointNothingLands(t *testing.T) {
	for _, faulty := range [][]int{nil, {0, 1, 2}} {
		traffic := logged(usual)
		traffic.faulty = faulty
		f := traffic.measure()
		assert.Zero(t, f.Landed+f.DuringFault)
		assert.Equal(t, Wait{None: true}, f.UntilNone)
	}
}

func TestAFullShareBeginsWithTheFirstRequestOfAWindowThatHasAQuarter(t *testing.T) {
	for log, want := range map[string]Wait{
		usual:                      {After: second(2)}, // endpoint 2 comes third
		"012000000000000000120120": {After: second(7)},
		"012000000000001200120012": {After: second(3)}, // a quarter is enough
		"012000000000111111111111": {Never: true},
		"012012012012020202020202": {Never: true},
		"012012012012012.........": {Never: true}, // three requests are no window
		"012012012012...012012...": {After: second(5)},
	} {
		assert.Equal(t, want, logged(log).measure().FullShare, log)
	}
}

func TestKeptIsAThirdOfTheLongStretchesInWhichAHealthyEndpointGotNone(t *testing.T) {
	for log, want := range map[string][endpointCount]int{
		usual:                      {},
		"012012012012012012000222": {0, 2, 0}, // 7 for the healed endpoint; the others miss three in a row
		"012000000000012012012012": {0, 1, 4}, // 11 each, of which endpoint 1 was healthy in the first and the last
		"012020202020202020202012": {0, 4, 0}, // 20, of which it was healthy in one before the fault and ten after it
		"020202020202012012012012": {0, 1, 0}, // 13, of which three before the fault and one after it
		"011112012012012012012012": {2, 0, 2}, // 5 each
		"012010120120120120120120": {0, 0, 1}, // 4 are long enough
	} {
		assert.Equal(t, want, logged(log).measure().Kept, log)
	}
}

// answersAt are answers that came after so many seconds, one sent each second from the
// fault on; 0 = there was none.
func answersAt(latencies ...int) *traffic {
	t := logged(usual)
	for i, latency := range latencies {
		t.answers = append(t.answers, answer{
			sent: t.timeline.Fault + second(i), latency: second(latency), failed: latency == 0, endpoint: 0, code: 200,
		})
	}
	return t
}

func TestWhoGotNoAnswerWaitedForEver(t *testing.T) {
	for _, c := range []struct {
		latencies []int
		p50, p99  Wait
	}{
		{[]int{3, 1, 2}, Wait{After: second(2)}, Wait{After: second(3)}},
		{[]int{4, 0, 1, 2}, Wait{After: second(2)}, Wait{Never: true}},
		{[]int{0, 0, 5}, Wait{Never: true}, Wait{Never: true}},
		{nil, Wait{None: true}, Wait{None: true}},
	} {
		f := answersAt(c.latencies...).measure()
		assert.Equal(t, c.p50, f.P50, c.latencies)
		assert.Equal(t, c.p99, f.P99, c.latencies)
	}
}

func TestFailuresCountFromTheFaultOnAndA503Always(t *testing.T) {
	traffic := answersAt(1, 0, 0)
	traffic.answers[2].timedOut = true
	traffic.answers = append(traffic.answers,
		answer{sent: second(1), failed: true, code: 503, endpoint: -1},
		answer{sent: second(2), endpoint: 0, code: 200},
		answer{sent: second(3) - onTheWay, failed: true, endpoint: -1})
	f := traffic.measure()
	assert.Equal(t, 6, f.Sent)
	assert.Equal(t, 3, f.Requests)
	assert.Equal(t, 2, f.Failed)
	assert.Equal(t, 1, f.TimedOut)
	assert.Equal(t, 1, f.FailedBefore)
	assert.Equal(t, 1, f.Refused)
}

func TestOnlyAnswersThatShouldHaveBeenFastTellWhetherTheMachineWasBusy(t *testing.T) {
	for name, c := range map[string]struct {
		answer answer
		want   time.Duration
	}{
		"of a healthy endpoint":              {answer{sent: second(5), latency: second(2), endpoint: 0}, second(2)},
		"of the slow one, sent in time":      {answer{sent: second(1), latency: second(1), endpoint: 1}, second(1)},
		"of the slow one, into the fault":    {answer{sent: second(2), latency: second(2), endpoint: 1}, 0},
		"of the slow one, out of the fault":  {answer{sent: second(11), latency: second(2), endpoint: 1}, 0},
		"of the slow one, after the healing": {answer{sent: second(12) + rush, latency: second(2), endpoint: 1}, second(2)},
		"of the slow one, catching up":       {answer{sent: second(13), latency: second(2), endpoint: 1}, 0},
		"to a long prompt":                   {answer{sent: second(5), latency: second(2), endpoint: 0, long: true}, 0},
		"that is not whole":                  {answer{sent: second(5), latency: second(2), endpoint: 0, failed: true}, 0},
		"of nobody known":                    {answer{sent: second(5), latency: second(2), endpoint: -1}, 0},
	} {
		traffic := logged(usual)
		traffic.answers = []answer{c.answer}
		assert.Equal(t, c.want, traffic.measure().SlowestHealthy, name)
	}
}

func TestSharesCountEachSecond(t *testing.T) {
	traffic := &traffic{timeline: Timeline{End: 2500 * time.Millisecond}, landings: []landing{
		{-time.Millisecond, 0}, {0, 0}, {time.Second - 1, 2}, {time.Second, 1}, {2600 * time.Millisecond, 1}, {second(3), 0},
	}}
	assert.Equal(t, Shares{{1, 0, 1}, {0, 1, 0}, {0, 1, 0}}, traffic.shares())
}
