package foreign

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheBreakersCountersAreThoseOfItsSource(t *testing.T) {
	known := counters(t)
	for _, name := range []string{"panics", "samples", "overrides_missed", "overrides_enforced", "blocks_observed"} {
		assert.Contains(t, known, name)
	}
	for _, name := range []string{"overrides", "samples_enforced", "upstream"} {
		assert.NotContains(t, known, name)
	}
}

// count gives a counter of the breaker by its short name, 0 before its first increment. A name that
// the breaker does not have fails the test: it would be 0 for ever.
func (g *gateway) count(name string) int64 {
	g.t.Helper()
	require.NotNil(g.t, g.breaker, "the breaker is not in the chain")
	prefix, known := counters(g.t)[name]
	require.True(g.t, known, "the breaker has no counter %q", name)
	return g.breaker.Metric(prefix + name)
}

// counters are the breaker's counters by short name, each with the prefix of its full name, as the
// plugin's source has them.
func counters(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../metrics.go", nil, parser.ParseComments)
	require.NoError(t, err)
	const ofGateway, ofCluster = "endpoint_breaker.metric.", "endpoint_breaker.upstream." + cluster + ".model.metric."
	prefixes := map[string]string{}
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		prefix, suffixes := ofCluster, []string{""}
		switch title := group.Doc.Text(); {
		case strings.HasPrefix(title, "Counters of the gateway"):
			prefix = ofGateway
		case strings.HasPrefix(title, "Decisions of a cluster"):
			suffixes = []string{"_enforced", "_observed"}
		case !strings.HasPrefix(title, "Counters of a cluster"):
			continue
		}
		for _, name := range values(t, group) {
			for _, suffix := range suffixes {
				prefixes[name+suffix] = prefix
			}
		}
	}
	return prefixes
}

func values(t *testing.T, group *ast.GenDecl) (texts []string) {
	t.Helper()
	for _, spec := range group.Specs {
		constant, ok := spec.(*ast.ValueSpec)
		require.True(t, ok)
		for _, value := range constant.Values {
			literal, ok := value.(*ast.BasicLit)
			require.True(t, ok)
			text, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			texts = append(texts, text)
		}
	}
	return texts
}
