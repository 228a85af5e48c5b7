package plugintest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"endpoint-breaker/internal/plugintest"
)

func TestASpoilThatDoesNotFitTheSourceFailsTheTest(t *testing.T) {
	for name, spoil := range map[string]plugintest.Edit{
		"gone":               {File: "main.go", Old: "this is not in the file", New: ""},
		"in several places":  {File: "main.go", Old: "v", New: ""},
		"not a program then": {File: "main.go", Old: "func main() {}", New: "func"},
		"no such file":       {File: "maine.go", Old: "a", New: ""},
	} {
		s := &said{TB: t}
		assert.Panics(t, func() { plugintest.Spoiled(s, "", spoil) }, name)
		assert.True(t, s.failed, name)
	}
}
