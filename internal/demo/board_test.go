package demo

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnEventHasTheTimeOfTheStory(t *testing.T) {
	b := &Board{}
	b.add(EventLog, "the first")
	b.begin(func() time.Duration { return 3 * time.Second })
	b.add(EventFault, "the second")
	assert.Equal(t, []Event{
		{Text: "the first"},
		{At: 3 * time.Second, Kind: EventFault, Text: "the second"},
	}, b.all())
}

func TestAStartThatFailsIsExplainedByThePluginsLog(t *testing.T) {
	refused := errors.New("refused")
	b := &Board{}
	b.add(EventLog, "log of worker 0: slow_threshold: -1s given")
	require.ErrorIs(t, b.explain(refused), refused)
	require.EqualError(t, b.explain(refused), "refused; log of worker 0: slow_threshold: -1s given")
}
