package sim

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The table of calls is the one of the embedded gateway, which keeps its own to itself.
func TestFaultsKnowTheCallsOfTheHostAndNoOthers(t *testing.T) {
	entry := regexp.MustCompile(`\{"(proxy_\w+)", (?:\[\]kind\{(.*?)\}|nil), \w+\}`)
	inHost := map[string]hostCall{}
	for _, match := range entry.FindAllStringSubmatch(sourcesOfHost(t, "abi_*.go"), -1) {
		kinds := strings.Split(match[2], ", ")
		inHost[match[1]] = hostCall{argument: slices.Contains(kinds, "text"), bytes: slices.Contains(kinds, "outBytes")}
	}
	assert.Equal(t, inHost, hostCalls())
}

func TestFaultsKnowTheCallbacksOfTheHostAndNoOthers(t *testing.T) {
	constant := regexp.MustCompile(`= +"(proxy_on_\w+)"`)
	inHost := map[string]bool{}
	for _, match := range constant.FindAllStringSubmatch(sourcesOfHost(t, "worker.go"), -1) {
		inHost[match[1]] = true
	}
	assert.Equal(t, slices.Sorted(maps.Keys(inHost)), callbacks())
}

func sourcesOfHost(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob("../wasmhost/" + pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all += string(text)
	}
	return all
}
