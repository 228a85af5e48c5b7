package wasmhost

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNamesForPeople(t *testing.T) {
	assert.Equal(t, []string{"trace", "debug", "info", "warning", "error", "critical", "level 6"}, []string{
		LogTrace.String(), LogDebug.String(), LogInfo.String(), LogWarn.String(), LogError.String(), LogCritical.String(), LogLevel(6).String(),
	})
	assert.Equal(t, []string{"continue", "stopped", "replied", "reset", "flow 4"}, []string{
		FlowContinue.String(), FlowStopped.String(), FlowReplied.String(), FlowReset.String(), Flow(4).String(),
	})
	for status, name := range map[Status]string{
		StatusOK: "ok", StatusNotFound: "not found", StatusBadArgument: "bad argument",
		StatusSerializationFailed: "serialization failure", StatusInvalidMemoryAccess: "invalid memory access",
		StatusParseFailure: "parse failure",
		StatusEmpty:        "empty", StatusCasMismatch: "cas mismatch", StatusInternalFailure: "internal failure",
		StatusUnimplemented: "unimplemented", Status(99): "status 99",
	} {
		assert.Equal(t, name, status.String())
	}
	assert.Equal(t, "[info] [base] [plugin] hello", LogLine{Worker: BaseVM, Level: LogInfo, Source: FromPlugin, Message: "hello"}.String())
	assert.Equal(t, "[error] [worker 3] [stderr] oh", LogLine{Worker: 3, Level: LogError, Source: FromStderr, Message: "oh"}.String())
}

func TestOutputIsSplitAtNewlines(t *testing.T) {
	var lines []string
	w := &lineWriter{emit: func(line string) { lines = append(lines, line) }}
	for _, piece := range []string{"a", "b\nc\n\nd", "e"} {
		n, err := w.Write([]byte(piece))
		require.NoError(t, err)
		assert.Equal(t, len(piece), n)
	}
	assert.Equal(t, []string{"ab", "c", ""}, lines)
	w.flush()
	w.flush()
	assert.Equal(t, []string{"ab", "c", "", "de"}, lines)
}

func TestARefusalWithoutAReasonSaysSo(t *testing.T) {
	err := &ConfigurationRefusedError{Lines: []LogLine{{Level: LogInfo, Message: "starting"}}}
	assert.Equal(t, "the plugin refused its configuration and logged no reason", err.Error())
}
