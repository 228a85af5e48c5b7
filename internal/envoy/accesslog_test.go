package envoy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnEntryWithoutTheEndOfAResponseLastsUntilTheRequestsOwn(t *testing.T) {
	a, err := parseAccess([]byte(`{"start":"1796072428626000000","duration_us":null,"duration_ms":7,"headers_us":null,"flags":"DC","host":null}`))
	require.NoError(t, err)
	assert.Equal(t, Access{Start: time.Unix(1796072428, 626000000), Duration: 7 * time.Millisecond, Flags: "DC"}, a)
}

func TestAnEntryThatIsNotUnderstoodIsToldAtTheEnd(t *testing.T) {
	var seen int
	r := newAccessReader(func(Access) { seen++ })
	for _, line := range []string{`{"start":"1796072428626000000"}`, `nonsense`, `{"start":"soon"}`, `{"start":1796072428626000000}`} {
		_, err := r.Write([]byte(line + "\n"))
		require.NoError(t, err)
	}
	assert.Equal(t, 2, seen)
	assert.ErrorContains(t, r.failure(), "in nonsense")
}
