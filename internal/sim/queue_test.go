package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEventsHappenInOrderOfTimeThenSequence(t *testing.T) {
	var q queue
	var happened []string
	for _, e := range []struct {
		at   time.Duration
		name string
	}{{3, "d"}, {1, "a"}, {2, "b"}, {2, "c"}, {9, "too late"}} {
		q.at(e.at, func() error {
			happened = append(happened, e.name)
			return nil
		})
	}
	for {
		next, found := q.pop(5)
		if !found {
			break
		}
		require.NoError(t, next.do())
	}
	assert.Equal(t, []string{"a", "b", "c", "d"}, happened)
}
