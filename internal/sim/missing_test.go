package sim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnEventNeedsItsMoment(t *testing.T) {
	requireRefused(t, minimal+"events: [{wall_jump: {by: 1h}}]\n", `events[0].at: is missing; should be a moment, such as "5m"`)
	requireParsed(t, minimal+"events: [{at: 0s, wall_jump: {by: 1h}}]\n")
}

func TestAFieldThatIsNotThereIsCalledMissing(t *testing.T) {
	for given, want := range map[string]string{
		"expect: [{blocked: {}}]":                      "expect[0].blocked.endpoint: is missing",
		"expect: [{returned: {by: 1s}}]":               "expect[0].returned.endpoint: is missing",
		"expect: [{returned: {endpoint: A}}]":          `expect[0].returned.by: is missing; should be a moment, such as "5m"`,
		"expect: [{requests_to: {exactly: 0}}]":        "expect[0].requests_to.endpoint: is missing",
		"expect: [{metric: {exactly: 0}}]":             "expect[0].metric.name: is missing; should be one of panics,",
		"events: [{at: 1s, health: {endpoints: [A]}}]": "events[0].health.status: is missing; should be one of Healthy,",
		"events: [{at: 1s, fault: {trap: true}}]":      "events[0].fault.call: is missing",
		"routes: [{name: a}, {name: b}]":               "traffic[0].route: is missing; known in this file: a, b",
	} {
		t.Run(given, func(t *testing.T) { requireRefused(t, minimal+given+"\n", want) })
	}
	requireRefused(t, strings.Replace(minimal, ", address: 10.0.0.1:8000", "", 1), "clusters[0].endpoints[0].address: is missing")
}

func TestAFileWithNothingInItIsEmpty(t *testing.T) {
	for _, text := range []string{"", "\n", "# only a comment\n", "---\n"} {
		_, err := Parse([]byte(text))
		require.EqualError(t, err, "is empty")
	}
}

func TestClientsDoNotLeaveAsTheyCome(t *testing.T) {
	requireRefused(t, strings.Replace(minimal, "rate: 1", "rate: 1, leave_after: 0s", 1), "traffic[0].leave_after: given 0s; should be above 0s")
}

// The place is the one in the file, whatever a count before it makes of the list.
func TestAnErrorBehindACountNamesThePlaceInTheFile(t *testing.T) {
	counted := strings.Replace(minimal, "A, address: 10.0.0.1:8000", "A, address: 10.0.0.1:8000, count: 5", 1)
	for given, want := range map[string]string{
		"latency: [{from: 0s, headers: 1s}, {from: 2s, headers: 1s}, {from: 1s, headers: 1s}]": "clusters[0].endpoints[1].latency[2].from: given 1s; should be later",
		"name: A-2": `clusters[0].endpoints[1].name: given "A-2"; is there twice`,
	} {
		text := strings.Replace(counted, "name: B", "name: B, "+given, 1)
		if strings.HasPrefix(given, "name") {
			text = strings.Replace(counted, "name: B", given, 1)
		}
		requireRefused(t, text, want)
	}
}
