package sim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// twoRoutes is a scenario with names for all kinds of rules.
const twoRoutes = `
name: two-routes
duration: 1m
clusters:
  - name: outbound|443||llm.dns
    latency: 1s
    endpoints: [{name: A, address: 10.0.0.1:8000}]
  - name: plain
    latency: 1s
    endpoints: [{name: B, address: 10.0.0.2:8000}]
routes:
  - {name: chat-1, cluster: outbound|443||llm.dns, domain: "llm.example.com:8080"}
  - {name: batch, cluster: plain}
traffic: [{route: batch, rate: 1}]
`

func requireParsed(t *testing.T, text string) {
	t.Helper()
	_, err := Parse([]byte(text))
	require.NoError(t, err)
}

func TestARuleThatMatchesNothingInTheFileIsRefused(t *testing.T) {
	for rule, want := range map[string]string{
		"_match_route_: [chat]":                      `_match_route_: given "chat"; known in this file: chat-1, batch`,
		"_match_route_: [batch, chat]":               `_match_route_: given "chat"; known in this file: chat-1, batch`,
		"_match_route_prefix_: [chart]":              `_match_route_prefix_: given "chart"; known in this file: chat-1, batch`,
		"_match_domain_: [other.com]":                `_match_domain_: given "other.com"; known in this file: llm.example.com, example.com`,
		`_match_domain_: ["*.org"]`:                  `_match_domain_: given "*.org"; known in this file: llm.example.com, example.com`,
		`_match_domain_: ["chat.*"]`:                 `_match_domain_: given "chat.*"; known`,
		`_match_domain_: ["llm.example.com:8080"]`:   `_match_domain_: given "llm.example.com:8080"; known`,
		"_match_service_: [other.dns]":               `_match_service_: given "other.dns"; known in this file: llm.dns`,
		`_match_service_: ["llm.dns:80"]`:            `_match_service_: given "llm.dns:80"; known in this file: llm.dns`,
		"_match_service_: [plain]":                   `_match_service_: given "plain"; known in this file: llm.dns`,
		"_match_service_: ['outbound|443||llm.dns']": `_match_service_: given "outbound|443||llm.dns"; known in this file: llm.dns`,
	} {
		t.Run(rule, func(t *testing.T) {
			plugin := "{_rules_: [{_match_route_: [batch]}, {" + rule + "}]}"
			requireRefused(t, twoRoutes+"plugin: "+plugin+"\n", "plugin._rules_[1]."+want)
			requireRefused(t, twoRoutes+"events: [{at: 1s, configure: {plugin: "+plugin+"}}]\n", "events[0].configure.plugin._rules_[1]."+want)
		})
	}
}

func TestARuleThatMatchesSomethingInTheFileIsTaken(t *testing.T) {
	for _, rule := range []string{
		"_match_route_: [chat-1, batch]",
		"_match_route_prefix_: [chat-, b]",
		"_match_domain_: [llm.example.com, example.com]",
		`_match_domain_: ["*.example.com", "example.*", "*"]`,
		`_match_service_: [llm.dns, "llm.dns:443"]`,
	} {
		t.Run(rule, func(t *testing.T) { requireParsed(t, twoRoutes+"plugin: {_rules_: [{"+rule+"}]}\n") })
	}
}

func TestARuleOfOneClusterWithoutAServiceSaysSo(t *testing.T) {
	requireRefused(t, minimal+"plugin: {_rules_: [{_match_service_: [llm]}]}\n",
		`plugin._rules_[0]._match_service_: given "llm"; known in this file: none`)
}

// What is no rule at all the plugin refuses itself, and events may try that.
func TestRulesThatAreNoneAreLeftToThePlugin(t *testing.T) {
	for _, rules := range []string{"7", "[7]", "[{}]", "{}", "[{_match_route_: chat}]", "[{_match_route_: [7]}]"} {
		requireParsed(t, minimal+"plugin: {_rules_: "+rules+"}\n")
	}
}
