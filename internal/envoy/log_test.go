package envoy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// logged writes Envoy's output in small pieces and returns the lines.
func logged(t *testing.T, output string) []LogLine {
	t.Helper()
	var heard []LogLine
	b := newLogBook(func(l LogLine) { heard = append(heard, l) })
	for piece := range strings.SplitSeq(output, "e") {
		if rest := len(output) - len(piece); rest > 0 {
			piece += "e"
			output = output[min(len(piece), len(output)):]
		}
		_, err := b.Write([]byte(piece))
		require.NoError(t, err)
	}
	b.end()
	assert.Equal(t, heard, b.copied())
	return heard
}

func TestALogLineIsTakenApart(t *testing.T) {
	lines := logged(t, "2026-11-30T21:00:25.661421+00:00 17 warning upstream lds: \\'ingress\\' said \\\"no\\\"\\n\\tat \\342\\200\\246 C:\\\\x\\n\n")
	require.Len(t, lines, 1)
	assert.True(t, time.Date(2026, 11, 30, 21, 0, 25, 661421000, time.UTC).Equal(lines[0].Time))
	lines[0].Time = time.Time{}
	assert.Equal(t, LogLine{
		Thread: 17, Level: "warning", Component: "upstream", Message: "lds: 'ingress' said \"no\"\n\tat … C:\\x",
	}, lines[0])
}

func TestWhatEnvoysLoggerDidNotWriteIsKeptAsItIs(t *testing.T) {
	for _, output := range []string{
		"terminate called", `external/x.cc:1: \q`, "2026-11-30T21:00:25.661421+00:00 seventeen warning main x", "a b c d e", "",
	} {
		lines := logged(t, output+"\n")
		require.Len(t, lines, 1)
		assert.Equal(t, output, lines[0].Message)
		assert.Empty(t, lines[0].Level)
		assert.WithinDuration(t, time.Now(), lines[0].Time, time.Minute)
	}
	assert.Equal(t, "no end", logged(t, "no end")[0].Message)
}

// vmName is what Envoy puts in front of what a VM says.
const vmName = "wasm log endpoint-breaker root"

// stderr is what a VM on a thread writes to its standard error, as Envoy logs it.
func stderr(thread string, pieces ...string) string {
	var output strings.Builder
	for _, p := range pieces {
		fmt.Fprintf(&output, "2026-11-30T21:00:25.661421+00:00 %s error wasm %s: %s\n", thread, vmName, p)
	}
	return output.String()
}

func messages(lines []LogLine) []string {
	var all []string
	for _, l := range lines {
		all = append(all, l.Message)
	}
	return all
}

const trapped = "2026-11-30T21:00:25.662000+00:00 1 error wasm Function: proxy_on_tick failed: unreachable\n"

func TestAGoPanicIsOneLine(t *testing.T) {
	lines := logged(t, stderr("1", "panic: ", "runtime error: oh", "", "goroutine ", "1", " [", "running", "]:", "main.f", "(", "0x1", ")", "\\t", "main.go", ":", "22", "")+trapped)
	assert.Equal(t, []string{
		vmName + ": panic: runtime error: oh\ngoroutine 1 [running]:\nmain.f(0x1)\n\tmain.go:22",
		"Function: proxy_on_tick failed: unreachable",
	}, messages(lines))
}

func TestPanicsOfTwoWorkersAreTwoLines(t *testing.T) {
	lines := logged(t, stderr("1", "panic: ")+stderr("2", "panic: ")+stderr("2", "two")+stderr("1", "one")+trapped)
	assert.Equal(t, []string{
		vmName + ": panic: one",
		"Function: proxy_on_tick failed: unreachable",
		vmName + ": panic: two", // by the end of the log
	}, messages(lines))
}

func TestOtherErrorsOfThePluginAreLinesOfTheirOwn(t *testing.T) {
	assert.Len(t, logged(t, stderr("1", "a panic: no", "", "error")+trapped), 4)
}

func TestRefusalGivesThePluginsWordsAndEnvoysWithoutTheDump(t *testing.T) {
	const stamp = "2026-11-30T21:00:25.661421+00:00 1 "
	b := newLogBook(nil)
	_, err := b.Write([]byte(stamp + "warning wasm before the change\n" +
		stamp + "info wasm plugin start\n" +
		stamp + "warning wasm " + vmName + ": config refused: mode\n" +
		stamp + "critical wasm Plugin failed to load\n" +
		stamp + "critical wasm Plugin failed to load\n" +
		stamp + "warning upstream lds: something\n" +
		stamp + `warning config Filesystem config update rejected: ingress: goo.gle/debugproto  \nx {\n: }\n: Proto constraint` + "\n"))
	require.NoError(t, err)
	e := &Envoy{log: b, process: &process{done: make(chan struct{})}}
	assert.EqualError(t, e.refused(t.Context(), 1), "Envoy refused the configuration: "+
		vmName+": config refused: mode\nPlugin failed to load\n"+
		"Filesystem config update rejected: ingress: Proto constraint")
}

func TestWaitingForTheLogFindsWhatWasAndWhatComes(t *testing.T) {
	e := &Envoy{log: newLogBook(nil), process: &process{done: make(chan struct{})}}
	say := func(text string) {
		_, err := e.log.Write([]byte(text + "\n"))
		require.NoError(t, err)
	}
	say("first one")
	line, err := e.WaitForLog(t.Context(), "first")
	require.NoError(t, err)
	assert.Equal(t, "first one", line.Message)

	found := make(chan LogLine)
	go func() {
		line, err := e.WaitForLog(t.Context(), "third")
		assert.NoError(t, err)
		found <- line
	}()
	say("second")
	say("third")
	assert.Equal(t, "third", (<-found).Message)

	close(e.process.done)
	_, err = e.WaitForLog(t.Context(), "fourth")
	assert.EqualError(t, err, "waiting for \"fourth\" in Envoy's log: Envoy has ended\nthe end of its log:\n   : first one\n   : second\n   : third")
}
