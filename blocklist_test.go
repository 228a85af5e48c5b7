package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTheStoredListIsReadable(t *testing.T) {
	list := newBlocklist([]entry{{
		Cluster: cluster, Endpoint: hostA, Since: 90e9, Until: 135e9, Strikes: 1, Reason: reasonInFlight,
	}}, nil)
	assert.JSONEq(t, `{"version":1,"blocks":[{"cluster":"outbound|443||llm.dns","endpoint":"10.0.0.1:8000",`+
		`"since":90000000000,"until":135000000000,"strikes":1,"reason":"in_flight","observed":false}]}`,
		string(list.encode()))
}

func TestWhatIsStoredIsWhatIsRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := instant(rapid.Int64Range(1, math.MaxInt64/2).Draw(rt, "now"))
		entries := rapid.SliceOf(rapid.Custom(func(rt *rapid.T) entry {
			since := instant(rapid.Int64Range(1, int64(now)).Draw(rt, "since"))
			return entry{
				Cluster:  rapid.StringMatching(`outbound\|\d+\|\|.+`).Draw(rt, "cluster"),
				Endpoint: rapid.SampledFrom([]string{hostA, "[fd00::1]:8000", "[fd00::1]:8001"}).Draw(rt, "endpoint"),
				Since:    since,
				Until:    now.add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(rt, "ahead"))),
				Strikes:  rapid.IntRange(1, 1000).Draw(rt, "strikes"),
				Reason:   rapid.SampledFrom([]reason{reasonHeaders, reasonFirstChunk, reasonInFlight}).Draw(rt, "reason"),
				Observed: rapid.Bool().Draw(rt, "observed"),
			}
		})).Draw(rt, "entries")
		evidence := rapid.SliceOf(rapid.Custom(func(rt *rapid.T) sharedEvidence {
			last := rapid.Int64Range(1, int64(now)).Draw(rt, "last")
			e := sharedEvidence{Cluster: cluster, Endpoint: hostA, Rule: rapid.StringMatching(`.+`).Draw(rt, "rule"), Last: instant(last)}
			for range rapid.IntRange(0, maxConfirmCount).Draw(rt, "samples") {
				reached := rapid.Int64Range(1, last).Draw(rt, "reached")
				e.Counted = append(e.Counted, sharedSample{
					Started: instant(rapid.Int64Range(1, reached).Draw(rt, "started")), Reached: instant(reached),
				})
			}
			return e
		})).Draw(rt, "evidence")
		list, err := decodeBlocklist(newBlocklist(entries, evidence).encode(), now)
		require.NoError(rt, err)
		assert.ElementsMatch(rt, entries, list.entries)
		assert.ElementsMatch(rt, evidence, list.evidence)
	})
}

func TestDamagedContentIsTreatedAsEmpty(t *testing.T) {
	for name, value := range map[string]string{
		"nothing":             ``,
		"garbage":             "\x00\xff garbage",
		"truncated":           `{"version":1,"blocks":[{"cluster":"c"`,
		"another type":        `[]`,
		"null":                `null`,
		"a future version":    `{"version":2,"blocks":[]}`,
		"a wrong type inside": `{"version":1,"blocks":[{"since":"yesterday"}]}`,
		"trailing garbage":    `{"version":1,"blocks":[]}x`,
		"two documents":       `{"version":1,"blocks":[]}{"version":1,"blocks":[]}`,
		"a number too large":  `{"version":1,"blocks":[{"since":99999999999999999999}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			list, err := decodeBlocklist([]byte(value), at(0))
			require.Error(t, err)
			assert.Empty(t, list.entries)
			assert.False(t, list.blocksAny(false, at(0)))
		})
	}
}

func TestEntriesThatMakeNoSenseAreDroppedAndTheOthersKept(t *testing.T) {
	good := blockOf(hostA, 0, 45)
	for name, spoil := range map[string]func(*entry){
		"no cluster":                     func(e *entry) { e.Cluster = "" },
		"no endpoint":                    func(e *entry) { e.Endpoint = "" },
		"no strike":                      func(e *entry) { e.Strikes = 0 },
		"more strikes than can be":       func(e *entry) { e.Strikes = mostStrikes + 1 },
		"since in the future":            func(e *entry) { e.Since, e.Until = at(602), at(603) },
		"unknown since":                  func(e *entry) { e.Since = unknown },
		"until before since":             func(e *entry) { e.Until = e.Since - 1 },
		"until further than an hour off": func(e *entry) { e.Until = at(1).add(time.Hour + 11*time.Minute) },
		"until at the end of time":       func(e *entry) { e.Until = math.MaxInt64 },
	} {
		t.Run(name, func(t *testing.T) {
			bad := blockOf(hostB, 0, 45)
			spoil(&bad)
			list, err := decodeBlocklist(newBlocklist([]entry{bad, good}, nil).encode(), at(1))
			require.EqualError(t, err, `blocklist: 1 of 2 entries of "blocks" make no sense`)
			assert.Equal(t, []entry{good}, list.entries)
		})
	}
}

func TestFieldsThatThisVersionDoesNotKnowAreIgnored(t *testing.T) {
	list, err := decodeBlocklist([]byte(`{"version":1,"more":true,"blocks":[{"cluster":"c","endpoint":"e",`+
		`"since":1000000000000,"until":1045000000000,"strikes":1,"reason":"headers","note":"x"}]}`), at(0))
	require.NoError(t, err)
	assert.Len(t, list.entries, 1)
}

func TestABlockOfAnHourIsBelievedByAReaderThatIsLate(t *testing.T) {
	e := blockOf(hostA, 10, 10+3600)
	_, err := decodeBlocklist(newBlocklist([]entry{e}, nil).encode(), at(-500))
	assert.NoError(t, err, "its thread stood still between the clock and the store")
}

func TestAnEntryOutlivesItsBlock(t *testing.T) {
	list := newBlocklist([]entry{blockOf(hostA, 0, 45)}, nil)
	later := list.with(blockOf(hostB, 645, 690), at(645), rememberExpired)
	_, known := later.find(cluster, hostA, false)
	assert.True(t, known, "exactly ten minutes")
	later = list.with(blockOf(hostB, 645.001, 690), at(645.001), rememberExpired)
	_, known = later.find(cluster, hostA, false)
	assert.False(t, known, "the next write after that drops it")
	assert.Len(t, list.entries, 1, "the list itself never changes")
}

func TestShorteningLeavesAloneWhatIsShortEnough(t *testing.T) {
	list := newBlocklist([]entry{blockOf(hostA, 0, 45)}, nil)
	assert.Same(t, list, list.shortened(at(0), 45*time.Second), "exactly the longest")
	assert.Equal(t, at(44), list.shortened(at(0), 44*time.Second).entries[0].Until)
	assert.Equal(t, at(45), list.entries[0].Until)
}

func TestAtUntilNothingIsBlockedAnyMore(t *testing.T) {
	for _, observed := range []bool{false, true} {
		e := blockOf(hostA, 0, 45)
		e.Observed = observed
		list := newBlocklist([]entry{e}, nil)
		assert.True(t, list.blocksAny(observed, at(44.999)))
		assert.False(t, list.blocksAny(observed, at(45)))
	}
}

func TestObservedEntriesAreKnownApart(t *testing.T) {
	seen := blockOf(hostA, 0, 45)
	seen.Observed = true
	list := newBlocklist([]entry{seen}, nil)
	assert.True(t, list.blocksAny(true, at(1)))
	assert.False(t, list.blocksAny(false, at(1)))
	_, ok := list.find(cluster, hostA, false)
	assert.False(t, ok)
}

// FuzzDecodeBlocklist: whatever stands in SharedData, decoding neither panics nor believes an
// entry or evidence that cannot have been written, and what it believes survives being stored again.
func FuzzDecodeBlocklist(f *testing.F) {
	f.Add([]byte(`{"version":1,"blocks":[]}`), int64(boot))
	f.Add(newBlocklist([]entry{blockOf(hostA, 0, 45), blockOf("[fd00::1]:8000", 1, 46)}, nil).encode(), int64(at(2)))
	f.Add([]byte(`{"version":1,"blocks":[{"cluster":"c","endpoint":"e","since":-1,"until":9223372036854775807,"strikes":1}]}`), int64(1))
	f.Add([]byte(`{"version":1,"version":2,"blocks":null}`), int64(math.MaxInt64))
	f.Add(newBlocklist([]entry{blockOf(hostA, 0, 45)}, []sharedEvidence{evidenceAgainst(hostA), evidenceAgainst(hostB)}).encode(), int64(at(2)))
	f.Add([]byte(`{"version":1,"blocks":7,"evidence":[{"cluster":"c","endpoint":"e","rule":"r","last":9,"counted":null},{"last":-1}]}`), int64(9))
	f.Fuzz(func(t *testing.T, value []byte, clock int64) {
		now := instant(clock)
		list, _ := decodeBlocklist(value, now)
		for _, e := range list.entries {
			require.True(t, e.valid(now), "%+v", e)
		}
		for _, e := range list.evidence {
			require.True(t, e.valid(now), "%+v", e)
		}
		again, err := decodeBlocklist(list.encode(), now)
		require.NoError(t, err)
		require.Equal(t, list.entries, again.entries)
		require.Len(t, again.evidence, len(list.evidence))
		for i := range list.evidence {
			require.Equal(t, list.evidence[i], again.evidence[i])
		}
	})
}
