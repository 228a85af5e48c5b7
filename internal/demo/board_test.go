package demo

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/wasmhost"
)

func TestTheBoardKeepsThePluginsWarningsWithTheirKeyword(t *testing.T) {
	b := &Board{}
	b.log(wasmhost.LogLine{Level: wasmhost.LogInfo, Message: "started"})
	b.log(wasmhost.LogLine{Level: wasmhost.LogWarn, Message: "[endpoint-breaker] [1] endpoint-breaker block reason=headers"})
	b.begin(func() time.Duration { return 3 * time.Second })
	b.log(wasmhost.LogLine{Worker: 1, Level: wasmhost.LogCritical, Message: "panic"})
	assert.Equal(t, []Event{
		{Text: "log of worker 0: endpoint-breaker block reason=headers"},
		{At: 3 * time.Second, Text: "log of worker 1: panic"},
	}, b.all())
}

func TestAStartThatFailsIsExplainedByThePluginsLog(t *testing.T) {
	refused := errors.New("refused")
	b := &Board{}
	b.log(wasmhost.LogLine{Level: wasmhost.LogError, Message: "slow_threshold: -1s given"})
	require.ErrorIs(t, b.explain(refused), refused)
	require.EqualError(t, b.explain(refused), "refused; log of worker 0: slow_threshold: -1s given")
}
