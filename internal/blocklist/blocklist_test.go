package blocklist_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/blocklist"
	"endpoint-breaker/internal/wasmhost"
)

func TestAListIsReadAsThePluginWritesIt(t *testing.T) {
	entries, err := blocklist.Parse([]byte(`{"version":1,"blocks":[{"cluster":"c","endpoint":"10.0.0.1:80",` +
		`"since":90000000000,"until":135000000000,"strikes":2,"reason":"in_flight","observed":true}]}`))
	require.NoError(t, err)
	assert.Equal(t, []blocklist.Entry{{
		Cluster: "c", Endpoint: "10.0.0.1:80", Since: 90 * time.Second, Until: 135 * time.Second,
		Strikes: 2, Reason: "in_flight", Observed: true,
	}}, entries)
}

func TestWhatCannotBeReadIsAnErrorThatShowsIt(t *testing.T) {
	_, err := blocklist.Parse([]byte("junk"))
	require.ErrorContains(t, err, `shared data endpoint-breaker.blocklist: invalid character 'j'`)
	_, err = blocklist.Parse([]byte(`{"version":2}`))
	require.EqualError(t, err, "shared data endpoint-breaker.blocklist: got version 2, want 1")
}

func TestAReaderTellsOfEachChangeOnce(t *testing.T) {
	store := wasmhost.NewSharedData()
	reader := blocklist.NewReader(store)
	changed := func() bool {
		_, changed, err := reader.Changed()
		require.NoError(t, err)
		return changed
	}
	assert.False(t, changed(), "the key may be missing at first")
	store.Set(blocklist.Key, []byte(`{"version":1,"blocks":[]}`), 0)
	assert.True(t, changed())
	assert.False(t, changed())
	store.Set(blocklist.Key, []byte(`{"version":1,"blocks":[]}`), 0)
	assert.True(t, changed(), "written is changed, whatever was written")
	store.Set(blocklist.Key, []byte(`junk`), 0)
	_, _, err := reader.Changed()
	require.Error(t, err)
	assert.False(t, changed(), "told once")
}
