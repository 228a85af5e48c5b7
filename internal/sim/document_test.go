package sim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFileIsOneYAMLDocument(t *testing.T) {
	for _, one := range []string{
		"", "a: 1", "---\na: 1", "\ufeff---\na: 1", "%YAML 1.1\n---\na: 1\n", "# note\n--- # note\na: 1\n...\n# note\n",
		"a: 1\n---\n", "a: |\n  ---\n", "a: b---\n----: c\n",
	} {
		require.NoError(t, oneDocument([]byte(one)), one)
	}
	for _, several := range []string{
		"a: 1\n---\nb: 2", "a: 1\r\n---\r\nb: 2", "a: 1\r---\rb: 2", "a: 1\n--- b\n", "--- a\n--- b\n", "a: 1\n...\nb: 2",
		"a: 1\n---\t# note\nb: 2", "a: 1\n---\n---\nb: 2", "a: 1\n...\n%YAML 1.1\n---\nb: 2",
	} {
		require.ErrorContains(t, oneDocument([]byte(several)), "given a second YAML document", several)
	}
}
