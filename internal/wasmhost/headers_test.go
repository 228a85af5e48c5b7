package wasmhost

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHeaderNamesAreLowerCaseAndOrderIsKept(t *testing.T) {
	headers := Headers{{"B", "1"}, {"a", "2"}}.clone()
	headers.add("B", "3")
	assert.Equal(t, Headers{{"b", "1"}, {"a", "2"}, {"b", "3"}}, headers)
	value, found := headers.Get("B")
	assert.True(t, found)
	assert.Equal(t, "1", value, "the first one")
}

func TestReplaceLeavesOneValueInTheFirstPlace(t *testing.T) {
	headers := Headers{{"x", "0"}, {"a", "1"}, {"b", "2"}, {"a", "3"}, {"a", "4"}, {"c", "5"}}
	headers.replace("A", "new")
	assert.Equal(t, Headers{{"x", "0"}, {"a", "new"}, {"b", "2"}, {"c", "5"}}, headers)
	headers.replace("d", "6")
	assert.Equal(t, Headers{{"x", "0"}, {"a", "new"}, {"b", "2"}, {"c", "5"}, {"d", "6"}}, headers)
}

func TestRemoveTakesEveryValue(t *testing.T) {
	headers := Headers{{"a", "1"}, {"b", "2"}, {"a", "3"}}
	headers.remove("A")
	assert.Equal(t, Headers{{"b", "2"}}, headers)
}
