package foreign

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheDocumentListsEveryPluginOnce(t *testing.T) {
	text, err := os.ReadFile("../docs/embedded-higress.md")
	require.NoError(t, err)
	var documented, tested []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, row[1])
	}
	for _, p := range plugins() {
		tested = append(tested, p.name)
	}
	assert.Equal(t, tested, documented)
}
