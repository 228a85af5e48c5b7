package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"endpoint-breaker/internal/plugintest"
	"endpoint-breaker/internal/sim"
)

// scenarioPages are docs/scenarios.md in English and in Chinese, seen from the root of the
// tree.
func scenarioPages() []string { return []string{"docs/scenarios.md", "docs/scenarios.zh.md"} }

// fence is one code block of a page.
type fence struct{ language, text string }

// fencesOf returns the code blocks of a page in their order, without their indentation.
func fencesOf(t *testing.T, page string) []fence {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	block := regexp.MustCompile("(?ms)^( *)```([a-z]+)\n(.*?)\n *```")
	var fences []fence
	for _, match := range block.FindAllStringSubmatch(string(text), -1) {
		fences = append(fences, fence{match[2], strings.ReplaceAll("\n"+match[3], "\n"+match[1], "\n")[1:] + "\n"})
	}
	require.NotEmpty(t, fences, page)
	return fences
}

func TestBothScenarioPagesShowTheSame(t *testing.T) {
	t.Chdir("../..")
	comment := regexp.MustCompile(`(?m) +#.*$`)
	english, chinese := fencesOf(t, scenarioPages()[0]), fencesOf(t, scenarioPages()[1])
	require.Len(t, chinese, len(english))
	for i := range english {
		english[i].text = comment.ReplaceAllString(english[i].text, "")
		chinese[i].text = comment.ReplaceAllString(chinese[i].text, "")
		assert.Equal(t, english[i], chinese[i])
	}
}

func TestTheScenarioPageShowsWhatItsCommandsPrint(t *testing.T) {
	needShippedWasm(t)
	t.Chdir("../..")
	scratch := t.TempDir()
	compareWithPage(t, scratch, func(command string) bool { return !strings.Contains(command, onEnvoy) })
	assert.FileExists(t, filepath.Join(scratch, "events.log"))
}

// onEnvoy is in the commands that need an Envoy.
const onEnvoy = "--gateway envoy"

func TestTheScenarioPageShowsWhatItsCommandsPrintOnEnvoy(t *testing.T) {
	plugintest.EnvoyBinary(t)
	plugintest.EnvoyPath(t)
	t.Chdir("../..")
	compareWithPage(t, t.TempDir(), func(command string) bool { return strings.Contains(command, onEnvoy) })
}

// compareWithPage runs those commands of the page one after the other. An output that is shown
// belongs to the command before it; … stands for anything.
func compareWithPage(t *testing.T, scratch string, runs func(command string) bool) {
	t.Helper()
	printed, ran := "", false
	for _, block := range fencesOf(t, scenarioPages()[0]) {
		switch {
		case block.language == "sh":
			for command := range strings.Lines(block.text) {
				if ran = runs(command); ran {
					printed = runDocumented(t, strings.ReplaceAll(strings.TrimSpace(command), "/tmp/", scratch+"/"))
				}
			}
		case block.language == "text" && ran:
			shown := strings.ReplaceAll(regexp.QuoteMeta(block.text), "…", "(?s:.*)")
			assert.Regexp(t, shown, printed)
		}
	}
	assert.NotEmpty(t, printed)
}

// runDocumented runs a command of the page and returns what it prints. What is built by
// make is there already.
func runDocumented(t *testing.T, command string) (printed string) {
	t.Helper()
	if command == "make build" {
		return ""
	}
	arguments, found := strings.CutPrefix(command, "go run ./cmd/lab ")
	require.True(t, found, "no test runs the documented command %q", command)
	printed, err := runLab(t, strings.Fields(arguments)...)
	if err != nil {
		requireExitCode(t, err, 1) // a scenario that fails is part of the story
	}
	return printed
}

// A scenario that the page shows as a whole is that file, to the byte.
func TestTheScenarioOfThePageIsAFile(t *testing.T) {
	t.Chdir("../..")
	file, err := os.ReadFile("scenarios/incident/as-it-was.yaml")
	require.NoError(t, err)
	whole := slices.DeleteFunc(fencesOf(t, scenarioPages()[0]), func(f fence) bool { return !strings.Contains(f.text, "name: as-it-was") || f.language != "yaml" })
	require.Len(t, whole, 1)
	assert.Equal(t, string(file), whole[0].text)
}

// The other two of the incident are the first one with another name and the plugin that the
// page tells of.
func TestTheIncidentsDifferInTheirPluginOnly(t *testing.T) {
	t.Chdir("../..")
	first, err := os.ReadFile("scenarios/incident/as-it-was.yaml")
	require.NoError(t, err)
	page, err := os.ReadFile(scenarioPages()[0])
	require.NoError(t, err)
	for name, plugin := range map[string]string{
		"with-30s": "plugin: {slow_threshold: 30s, block_ttl: 5m}",
		"too-low":  "plugin: {slow_threshold: 11s, block_ttl: 5m}",
	} {
		other, err := os.ReadFile("scenarios/incident/" + name + ".yaml")
		require.NoError(t, err)
		assert.Equal(t, strings.NewReplacer("name: as-it-was", "name: "+name, "plugin: {}", plugin).Replace(string(first)), string(other))
	}
	assert.Contains(t, string(page), "```yaml\nplugin: {slow_threshold: 30s, block_ttl: 5m}\n```")
}

// What the pages say of the incident without a breaker is so.
func TestTheIncidentWithoutTheBreakerIsAsThePagesSay(t *testing.T) {
	needShippedWasm(t)
	t.Chdir("../..")
	text, err := os.ReadFile("scenarios/incident/as-it-was.yaml")
	require.NoError(t, err)
	for _, page := range scenarioPages() {
		shown, err := os.ReadFile(page)
		require.NoError(t, err)
		assert.Contains(t, string(shown), "`plugin: {mode: \"off\"}`")
		assert.Contains(t, string(shown), "640")
	}
	file := scenarioFile(t, "off.yaml", strings.Replace(string(text), "plugin: {}", `plugin: {mode: "off"}`, 1))
	printed, err := runLab(t, "sim", file)
	requireExitCode(t, err, 1)
	assert.Contains(t, printed, "at most 90 — seen: 640")
}

// theRest is what a part of a scenario that the page shows needs to be played.
const theRest = `
name: part
duration: 10m
clusters:
  - name: outbound|443||llm.dns
    latency: 2s
    endpoints:
      - {name: A, address: 10.0.0.1:8000}
      - {name: B, address: 10.0.0.2:8000}
      - {name: C, address: 10.0.0.3:8000}
traffic:
  - {name: chat, rate: 1}
`

func TestEveryPartOfAScenarioOnThePageCanBePlayed(t *testing.T) {
	wasm := plugintest.Wasm(t)
	t.Chdir("../..")
	for _, block := range fencesOf(t, scenarioPages()[0]) {
		if block.language != "yaml" || strings.Contains(block.text, "name: as-it-was") {
			continue
		}
		var whole, part map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(theRest), &whole))
		require.NoError(t, yaml.UnmarshalStrict([]byte(block.text), &part))
		maps.Copy(whole, part)
		text, err := yaml.Marshal(whole)
		require.NoError(t, err)
		scenario, err := sim.Parse(text)
		require.NoError(t, err, block.text)
		_, err = sim.Run(t.Context(), scenario, sim.Options{Wasm: wasm, Workers: scenario.Workers[0]})
		require.NoError(t, err, block.text)
	}
}

func TestTheScenarioPagesNameEveryField(t *testing.T) {
	t.Chdir("../..")
	schema, err := os.ReadFile("scenarios/scenario.schema.json")
	require.NoError(t, err)
	var root any
	require.NoError(t, json.Unmarshal(schema, &root))
	fields := map[string]bool{}
	collectProperties(root, fields)
	require.Greater(t, len(fields), 70)
	for _, page := range scenarioPages() {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for field := range fields {
			assert.Contains(t, string(text), "`"+field+"`", page)
		}
	}
}

// collectProperties finds the names of all properties that a schema describes.
func collectProperties(schema any, names map[string]bool) {
	switch schema := schema.(type) {
	case []any:
		for _, one := range schema {
			collectProperties(one, names)
		}
	case map[string]any:
		for key, value := range schema {
			if properties, ok := value.(map[string]any); ok && key == "properties" {
				for name := range properties {
					names[name] = true
				}
			}
			collectProperties(value, names)
		}
	}
}
