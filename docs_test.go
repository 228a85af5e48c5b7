package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

func readmes() []string { return []string{"README.md", "README_ZH.md"} }

// pages are the documents in English, each with its Chinese twin. Those that cmd/lab plays are
// tested there.
func pages() map[string]string {
	return map[string]string{"README.md": "README_ZH.md", "docs/envoy.md": "docs/envoy.zh.md", "docs/evidence.md": "docs/evidence.zh.md", "docs/tuning.md": "docs/tuning.zh.md"}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// documentedDefaults reads the configuration table of a README: key and default.
func documentedDefaults(t *testing.T, readme string) map[string]string {
	t.Helper()
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([^|]+) \\| .+ \\|$")
	defaults := map[string]string{}
	for _, match := range row.FindAllStringSubmatch(readFile(t, readme), -1) {
		defaults[match[1]] = strings.TrimSpace(match[2])
	}
	return defaults
}

func TestTheConfigurationTablesListEveryKeyOnce(t *testing.T) {
	keys := (&ruleDraft{}).keys().names(atTop, isOwnKey)
	for _, readme := range readmes() {
		documented := documentedDefaults(t, readme)
		for _, key := range keys {
			assert.Contains(t, documented, key, readme)
		}
		assert.Len(t, documented, len(keys), readme)
	}
}

// A default in code style is a value: a configuration that spells it out is the same as {}.
func TestTheDocumentedDefaultsAreTheDefaults(t *testing.T) {
	defaults, err := parseSettings(nil)
	require.NoError(t, err)
	value := regexp.MustCompile("^`([^`]+)`$")
	for _, readme := range readmes() {
		spelled := 0
		for key, documented := range documentedDefaults(t, readme) {
			match := value.FindStringSubmatch(documented)
			if match == nil {
				continue
			}
			spelled++
			text := match[1]
			if !json.Valid([]byte(text)) {
				text = `"` + text + `"`
			}
			settings, err := parseSettings([]byte(`{"` + key + `": ` + text + `}`))
			require.NoError(t, err, "%s: %s", readme, key)
			assert.Equal(t, defaults, settings, "%s: %s", readme, key)
		}
		assert.GreaterOrEqual(t, spelled, 19, readme)
	}
}

// fenced returns the code blocks of that language, indented ones too.
func fenced(text, language string) []string {
	block := regexp.MustCompile("(?ms)^( *)```" + language + "\n(.*?)^ *```")
	var blocks []string
	for _, match := range block.FindAllStringSubmatch(text, -1) {
		lines := strings.Split(match[2], "\n")
		for i := range lines {
			lines[i] = strings.TrimPrefix(lines[i], match[1])
		}
		blocks = append(blocks, strings.Join(lines, "\n"))
	}
	return blocks
}

func TestBothLanguagesShowTheSameCommandsAndConfigurations(t *testing.T) {
	comment := regexp.MustCompile(`(?m) *#.*$`)
	for page, twin := range pages() {
		for _, language := range []string{"sh", "yaml"} {
			english := fenced(readFile(t, page), language)
			chinese := fenced(readFile(t, twin), language)
			require.Len(t, chinese, len(english), "%s, %s", page, language)
			for i := range english {
				assert.Equal(t, comment.ReplaceAllString(english[i], ""), comment.ReplaceAllString(chinese[i], ""), page)
			}
		}
	}
}

// A link within the tree leads somewhere.
func TestEveryLinkedFileExists(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for page, twin := range pages() {
		for _, document := range []string{page, twin} {
			for _, match := range link.FindAllStringSubmatch(readFile(t, document), -1) {
				assert.FileExists(t, filepath.Join(filepath.Dir(document), match[1]), document)
			}
		}
	}
}

// Each documented command is a make target, or a scenario that `make sim` runs.
func TestEveryDocumentedCommandExists(t *testing.T) {
	targets := regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllString(readFile(t, "Makefile"), -1)
	for page := range pages() {
		for _, block := range fenced(readFile(t, page), "sh") {
			for command := range strings.Lines(block) {
				words := strings.Fields(command)
				switch {
				case words[0] == "make":
					assert.Contains(t, targets, words[1]+":", page)
				case strings.HasPrefix(command, "go run ./cmd/lab sim "):
					assert.FileExists(t, words[4], page)
				default:
					t.Errorf("%s: no test runs the documented command %q", page, command)
				}
			}
		}
	}
}

// wasmPlugin is what a WasmPlugin resource says to the plugin.
type wasmPlugin struct {
	Kind string `json:"kind"`
	Spec struct {
		DefaultConfig map[string]any `json:"defaultConfig"`
		FailStrategy  string         `json:"failStrategy"`
		Priority      int            `json:"priority"`
		MatchRules    []struct {
			Config  map[string]any `json:"config"`
			Ingress []string       `json:"ingress"`
			Domain  []string       `json:"domain"`
			Service []string       `json:"service"`
		} `json:"matchRules"`
	} `json:"spec"`
}

// configuration turns the resource into the plugin configuration as Higress's controller does:
// defaultConfig is the root, each rule's config gets its match keys and goes to _rules_.
func (w wasmPlugin) configuration(t *testing.T) []byte {
	t.Helper()
	root := w.Spec.DefaultConfig
	if root == nil {
		root = map[string]any{}
	}
	var rules []any
	for _, match := range w.Spec.MatchRules {
		entry := match.Config
		for key, names := range map[string][]string{
			"_match_route_": match.Ingress, "_match_domain_": match.Domain, "_match_service_": match.Service,
		} {
			if len(names) > 0 {
				entry[key] = names
			}
		}
		rules = append(rules, entry)
	}
	if len(rules) > 0 {
		root["_rules_"] = rules
	}
	configuration, err := json.Marshal(root)
	require.NoError(t, err)
	return configuration
}

func TestEveryDocumentedWasmPluginIsAcceptedWithoutAWarning(t *testing.T) {
	manifests := []string{readFile(t, "deploy/wasmplugin.yaml")}
	for _, readme := range readmes() {
		manifests = append(manifests, slices.DeleteFunc(fenced(readFile(t, readme), "yaml"), func(block string) bool {
			return !strings.Contains(block, "kind: WasmPlugin")
		})...)
	}
	require.Len(t, manifests, 3)
	for _, manifest := range manifests {
		var resource wasmPlugin
		require.NoError(t, yaml.Unmarshal([]byte(manifest), &resource))
		assert.Equal(t, "FAIL_OPEN", resource.Spec.FailStrategy)
		assert.True(t, resource.Spec.Priority >= 40 && resource.Spec.Priority <= 60)
		settings, err := parseSettings(resource.configuration(t))
		require.NoError(t, err)
		assert.Empty(t, settings.warnings)
		assert.Equal(t, modeObserve, settings.global.mode)
	}
}

func TestTheDeployedRuleEnforces(t *testing.T) {
	var resource wasmPlugin
	require.NoError(t, yaml.Unmarshal([]byte(readFile(t, "deploy/wasmplugin.yaml")), &resource))
	settings, err := parseSettings(resource.configuration(t))
	require.NoError(t, err)
	require.Len(t, settings.rules, 1)
	assert.Equal(t, modeEnforce, settings.rules[0].mode)
}
