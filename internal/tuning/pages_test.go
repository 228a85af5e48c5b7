package tuning

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestATableGoesBetweenItsMarks(t *testing.T) {
	got, err := table{name: "return", rows: [][]string{{"a", "b"}, {"1", "2"}}}.into(
		"before\n<!-- return -->\nold\n<!-- end of return -->\nafter\n")
	require.NoError(t, err)
	assert.Equal(t, "before\n<!-- return -->\n| a | b |\n|---|---|\n| 1 | 2 |\n<!-- end of return -->\nafter\n", got)
}

func TestAPageWithoutMarksIsRefusedBeforeARun(t *testing.T) {
	folder := t.TempDir()
	require.ErrorIs(t, CheckDocs(folder), os.ErrNotExist)
	for page := range pages() {
		require.NoError(t, os.WriteFile(filepath.Join(folder, page), []byte("<!-- return -->\n"), 0o600))
	}
	require.ErrorContains(t, CheckDocs(folder), `the marks "<!-- return -->" and "<!-- end of return -->" are missing`)
	require.NoError(t, CheckDocs(docs))
}
