package sim

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

const schemaFile = "../../scenarios/scenario.schema.json"

// schemaError is what an editor says of the text of a scenario; nil if nothing.
func schemaError(t *testing.T, text []byte) error {
	t.Helper()
	raw, err := yaml.YAMLToJSON(text)
	require.NoError(t, err)
	scenario, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	require.NoError(t, err)
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	require.NoError(t, err)
	return schema.Validate(scenario)
}

// scenarioFiles are all that the project has.
func scenarioFiles(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"../../scenarios/*.yaml", "../../scenarios/*/*.yaml", "testdata/*.yaml"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		all = append(all, files...)
	}
	return all
}

func TestEveryScenarioFileIsValidByTheSchema(t *testing.T) {
	for _, file := range scenarioFiles(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.NoError(t, schemaError(t, text), file)
	}
}

func TestEveryScenarioFileTellsEditorsWhereTheSchemaIs(t *testing.T) {
	for _, file := range scenarioFiles(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		first, _, _ := strings.Cut(string(text), "\n")
		path, found := strings.CutPrefix(first, "# yaml-language-server: $schema=")
		require.True(t, found, "%s: the first line should be # yaml-language-server: $schema=…", file)
		assert.Equal(t, filepath.Clean(schemaFile), filepath.Join(filepath.Dir(file), path), file)
	}
}

// onlyTheParserSees are mistakes that a schema cannot know of: they are about two places
// of a file, or about an order. What the parser refuses for another reason, the schema
// refuses, too (requireRefused).
func onlyTheParserSees() []string {
	return []string{
		"already set", "is there twice", "known in this file", // names
		"is missing, here and in the cluster",         // latency
		"given 1s; the first step should begin at 0s", // moments
		"should be later than the step before",        // …
		"should not go back in time",                  // …
		"should be after", "should not be before", "before repeat", "the run ends at",
		"at_least 3 is more than at_most 2",
		"should be a step with headers behind it", "stall does not go with repeat",
		"requests in all", "at one moment", "is one too many", "events happen", "at most 1000h", "-1000h to 1000h", // sums and amounts of time
		"second YAML document",
		"should be 0 to ", "one for each of the ", // workers
	}
}

func refusedBySchema(t *testing.T, text string, parser error) {
	t.Helper()
	for _, phrase := range onlyTheParserSees() {
		if strings.Contains(parser.Error(), phrase) {
			return
		}
	}
	assert.Error(t, schemaError(t, []byte(text)), "the parser refuses it, the schema does not: %v", parser)
}

// TestTheSchemaKnowsTheFieldsOfTheParserAndNoOthers compares both by reflection, from
// the root down.
func TestTheSchemaKnowsTheFieldsOfTheParserAndNoOthers(t *testing.T) {
	text, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	var root map[string]any
	require.NoError(t, json.Unmarshal(text, &root))
	c := comparison{root: root, seen: map[reflect.Type]bool{}}
	c.compare(t, "scenario", reflect.TypeFor[Scenario](), root)
	for _, walked := range []reflect.Type{reflect.TypeFor[Step](), reflect.TypeFor[Fault](), reflect.TypeFor[MetricValue](), reflect.TypeFor[Route]()} {
		assert.True(t, c.seen[walked], "%s was not compared", walked)
	}
}

type comparison struct {
	root map[string]any
	seen map[reflect.Type]bool
}

func (c comparison) compare(t *testing.T, path string, of reflect.Type, schema map[string]any) {
	t.Helper()
	schema = c.resolved(t, schema)
	assert.NotEmpty(t, schema["description"], "%s has no description", path)
	switch {
	case of.Kind() == reflect.Pointer:
		c.compare(t, path, of.Elem(), schema)
	case of == reflect.TypeFor[json.RawMessage]():
		return
	case of.Kind() == reflect.Slice:
		if items, found := c.items(t, schema); assert.True(t, found, "%s should be a list", path) && of.Elem().Kind() == reflect.Struct {
			c.compare(t, path+"[]", of.Elem(), items)
		}
	case of.Kind() == reflect.Struct:
		c.compareStruct(t, path, of, schema)
	}
}

func (c comparison) compareStruct(t *testing.T, path string, of reflect.Type, schema map[string]any) {
	t.Helper()
	c.seen[of] = true
	fields := map[string]reflect.Value{}
	collectFields(reflect.New(of).Elem(), fields)
	properties, _ := schema["properties"].(map[string]any)
	assert.Equal(t, slices.Sorted(maps.Keys(fields)), slices.Sorted(maps.Keys(properties)), path)
	assert.Equal(t, false, schema["additionalProperties"], path)
	for name, field := range fields {
		if property, ok := properties[name].(map[string]any); ok {
			c.compare(t, path+"."+name, field.Type(), property)
		}
	}
}

// items finds the schema of a list's items, also where a list is one of two forms.
func (c comparison) items(t *testing.T, schema map[string]any) (items map[string]any, found bool) {
	t.Helper()
	if items, ok := schema["items"].(map[string]any); ok {
		return items, true
	}
	forms, _ := schema["oneOf"].([]any)
	for _, form := range forms {
		if one, ok := form.(map[string]any); ok {
			if items, ok := c.items(t, one); ok {
				return items, true
			}
		}
	}
	return nil, false
}

// resolved follows a $ref. What stands beside it, such as a description, comes first.
func (c comparison) resolved(t *testing.T, schema map[string]any) map[string]any {
	t.Helper()
	ref, ok := schema["$ref"].(string)
	if !ok {
		return schema
	}
	definitions, _ := c.root["$defs"].(map[string]any)
	target, ok := definitions[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	require.True(t, ok, ref)
	merged := maps.Clone(target)
	maps.Copy(merged, schema)
	return merged
}

// The lists of names that stand in the schema and in the code are the same.
func TestTheSchemaListsTheNamesThatTheParserKnows(t *testing.T) {
	text, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	for _, names := range [][]string{
		slices.Concat(gatewayMetrics(), clusterMetrics()),
		gatewayMetrics(),
		slices.Sorted(maps.Keys(statuses())),
		slices.Concat(slices.Sorted(maps.Keys(hostCalls())), callbacks()),
		slices.Sorted(maps.Keys(hostCalls())),
		callsThat(handBytes),
		callsThat(haveArgument),
		{string(Answered), string(TimedOut), string(Left), string(Refused), string(NoHost), "unfinished"},
	} {
		list, err := json.Marshal(names)
		require.NoError(t, err)
		var compact bytes.Buffer
		require.NoError(t, json.Compact(&compact, text))
		assert.Contains(t, compact.String(), `"enum":`+string(list))
	}
}
