package sim

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// oddText is text as nobody should write it into a scenario.
func oddText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringOfN(rapid.SampledFrom([]rune("A\n\r\t\x00\x1b\x7f\u0085\u2028\u202e\u200b\ufeff[.:%")), 1, 80, -1),
	)
}

// placesForText are scenarios with one place, «», for a text in JSON's quotes.
func placesForText() []string {
	place := func(old, replacement string) string { return strings.Replace(minimal, old, replacement, 1) }
	return []string{
		minimal + "«»: 1\n",
		place("name: minimal", "name: «»"),
		place("duration: 1m", "duration: «»"),
		place("duration: 1m", "duration: 1m\nworkers: «»"),
		place("duration: 1m", "duration: 1m\nseed: {«»: 1}"),
		place("name: llm", "name: «»"),
		place("latency: 1s", "latency: «»"),
		place("latency: 1s", "latency: [{from: 0s, headers: 1s, jitter: «»}]"),
		place("name: A, address: 10.0.0.1:8000", "name: «», address: 10.0.0.1:8000"),
		place("10.0.0.1:8000", "«»"),
		place("name: A, address", "«»: A, address"),
		place("name: A", "name: «»") + "expect: [{blocked: {endpoint: Z}}]\n",
		place("rate: 1", "rate: «»"),
		place("rate: 1", "rate: 1, route: «»"),
		place("rate: 1", "rate: 1, method: «»"),
		place("rate: 1", "rate: 1, response_type: «»"),
		place("traffic:", "routes: [{name: «»}]\ntraffic:"),
		place("traffic:", "routes: [{name: default, domain: «»}]\ntraffic:"),
		place("name: chat", "name: «»"),
		minimal + "events: [{at: 1s, wall_jump: {by: «»}}]\n",
		minimal + "events: [{at: 1s, fault: {call: «», trap: true}}]\n",
		minimal + "events: [{at: 1s, fault: {call: proxy_log, status: «»}}]\n",
		minimal + "events: [{at: 1s, add: {endpoints: [«»]}}]\n",
		minimal + "expect: [{metric: {name: «», exactly: 0}}]\n",
		minimal + "expect: [{samples_counted: {cluster: «», exactly: 0}}]\n",
		minimal + "expect: [{requests: {traffic: «», outcome: «», exactly: 0}}]\n",
	}
}

// requireOneLine wants a text without a line break or anything else that cannot be printed.
func requireOneLine(t require.TestingT, text string) {
	for _, r := range text {
		require.True(t, strconv.IsPrint(r), "%q has %q", text, r)
	}
}

func TestAnErrorIsOneLineWhateverIsInTheFile(t *testing.T) {
	places := placesForText()
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(oddText().Draw(t, "text"))
		require.NoError(t, err)
		scenario := strings.ReplaceAll(rapid.SampledFrom(places).Draw(t, "scenario"), "«»", string(text))
		if _, err := Parse([]byte(scenario)); err != nil {
			requireOneLine(t, err.Error())
		}
	})
}

func FuzzAParserErrorIsOneLine(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte("a: [\n b\nc"))
	f.Add([]byte("\"bad\\nkey\": 1"))
	f.Add([]byte("a: 1\n---\nb: 2"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := Parse(text); err != nil {
			requireOneLine(t, err.Error())
		}
	})
}

func TestALongExcerptIsCutBetweenCharacters(t *testing.T) {
	assert.Equal(t, strings.Repeat("慢", 60)+"…", excerpt([]byte(strings.Repeat("慢", 61))))
}

func TestAFileNeedsAnExpectationAndIsNamedInTheError(t *testing.T) {
	for name, text := range map[string]string{"none": minimal, "empty": minimal + "expect: []\n"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "vacuous.yaml")
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			_, err := Load(file)
			require.EqualError(t, err, fmt.Sprintf("%s: expect: is missing; there should be at least one, such as {refused: {exactly: 0}}", file))
			assert.Error(t, schemaError(t, []byte(text)))
		})
	}
}
