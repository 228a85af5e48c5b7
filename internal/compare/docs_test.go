package compare

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shown is a run of every set-up under every fault, with figures of which each is another
// one, so that one in the wrong place shows.
func shown() *Report {
	r := &Report{Envoy: "1.40.0", Seed: 7, Timeline: FullTimeline()}
	n := 0
	for _, fault := range Faults() {
		for range Setups() {
			n++
			wait := func(d time.Duration) Wait { return Wait{After: d + time.Duration(n)*100*time.Millisecond} }
			r.Cells = append(r.Cells, Cell{
				Setup: Setups()[len(r.Cells)%len(Setups())].Name, Fault: fault.Name,
				Figures: Figures{
					Sent: 2000 + n, Requests: 1000 + n, Landed: 100 + n, DuringFault: 500 + n, UntilNone: wait(time.Second),
					P50: wait(10 * time.Second), P99: wait(20 * time.Second), Failed: n, FullShare: wait(30 * time.Second),
					Kept: [3]int{n, n, n}, SlowestHealthy: time.Duration(n) * time.Millisecond,
				},
				Shares: Shares{{n, n, n}, {n, 0, n}},
			})
		}
	}
	return r
}

func pageOf(t *testing.T, r *Report, name string, language Language) string {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, r.WritePage(&text, name, language))
	return text.String()
}

func pages(t *testing.T, r *Report) (english, chinese string) {
	t.Helper()
	return pageOf(t, r, "comparison.md", English), pageOf(t, r, "comparison.zh.md", Chinese)
}

// numbers are those of the page's tables, in their order.
func numbers(page string) []string {
	var rows []string
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "| `") {
			rows = append(rows, line)
		}
	}
	return regexp.MustCompile(`\d+(\.\d+)?`).FindAllString(strings.Join(rows, ""), -1)
}

func TestBothPagesHaveTheSameNumbers(t *testing.T) {
	english, chinese := pages(t, shown())
	assert.NotEmpty(t, numbers(english))
	assert.Equal(t, numbers(english), numbers(chinese))
	assert.Equal(t, strings.Count(english, "\n#"), strings.Count(chinese, "\n#"), "the same sections")
	assert.NotContains(t, chinese+english, "<no value>")
}

func TestAPageShowsEveryCellInItsRow(t *testing.T) {
	english, _ := pages(t, shown())
	assert.Contains(t, english, "| set-up | landed | until none | P50 | P99 | failed | full share | kept | the breaker is |")
	assert.Contains(t, english, "| `nothing` | 101 / 501 | 1.1 s | 10.1 s | 20.1 s | 1 / 1001 | 30.1 s | 3 |", "the first")
	assert.Contains(t, english, "| `breaker` | 156 / 556 | 6.6 s | 15.6 s | 25.6 s | 56 / 1056 | 35.6 s | 168 |  |", "the last")
	for _, fault := range Faults() {
		assert.Contains(t, english, "(`"+fault.Name+"`)")
		assert.Contains(t, english, "]("+pictureName(fault)+")")
	}
	assert.Contains(t, english, "took 56 ms", "the slowest answer of a healthy endpoint, of all cells")
}

func TestAFaultsSectionNamesTheKeysThatAreAddedForIt(t *testing.T) {
	r := shown()
	for i := range r.Cells {
		r.Cells[i].Figures = Figures{DuringFault: 1, Landed: count(r.Cells[i].Setup != Breaker)}
	}
	english, chinese := pages(t, r)
	assert.Contains(t, english, "| `nothing` | ahead | ahead | ahead | ahead | ahead | ahead | ahead |")
	assert.Contains(t, chinese, "| `nothing` | 领先 | 领先 | 领先 | 领先 | 领先 | 领先 | 领先 |")
	assert.Equal(t, 1, strings.Count(english, "Here the `breaker` also has `min_slow_percent: 30`."))
	assert.Equal(t, 1, strings.Count(chinese, "这里的 `breaker` 另加 `min_slow_percent: 30`。"))
	assert.Contains(t, english, "| ahead (better: landed) |")
}

func TestAReasonStandsOnceForAllThatItExplains(t *testing.T) {
	r := &Report{Timeline: FullTimeline(), Cells: []Cell{
		{Setup: Nothing, Fault: "slow", Figures: Figures{Landed: 9, DuringFault: 9}},
		{Setup: "least-request", Fault: "slow", Figures: Figures{Landed: 1, DuringFault: 9}},
		{Setup: Breaker, Fault: "slow", Figures: Figures{Landed: 3, DuringFault: 9, FullShare: Wait{After: 3 * time.Second}}},
	}}
	english, chinese := pages(t, r)
	assert.Contains(t, english, "- Against `least-request` (landed): least request avoids")
	assert.Contains(t, english, "- Against `nothing` (full share), `least-request` (full share): a block ends")
	assert.Contains(t, chinese, "- 对 `nothing`（恢复份额）、`least-request`（恢复份额）：拉黑按时间结束")
}

func TestEveryColumnHasAReasonWhereTheBreakerMayBeBehind(t *testing.T) {
	for _, fault := range []string{"slow", "hanging"} {
		for _, column := range Columns() {
			_, known := reasonFor(fault, softName, column)
			assert.True(t, known, "%s under %s", column, fault)
		}
	}
}

func TestWhatIsWrittenCanBeReadAndWrittenAgain(t *testing.T) {
	folder, again := t.TempDir(), t.TempDir()
	require.NoError(t, shown().WriteDocs(folder))
	assert.Contains(t, read(t, filepath.Join(folder, "comparison.md")), "# The breaker beside")
	assert.Contains(t, read(t, filepath.Join(folder, "comparison.zh.md")), "### 一个端点变慢")
	report, err := ReadReport(filepath.Join(folder, "comparison.json"))
	require.NoError(t, err)
	assert.Equal(t, shown(), report)
	require.NoError(t, report.WriteDocs(again))
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Len(t, files, 3+len(Faults()))
	for _, file := range files {
		assert.Equal(t, read(t, filepath.Join(folder, file.Name())), read(t, filepath.Join(again, file.Name())), file.Name())
	}
}

func TestAPictureIsWideEnoughToReadAndHigherTheMoreItShows(t *testing.T) {
	heights := map[int]int{}
	for _, n := range []int{2, 7} {
		r := shown()
		r.Cells = r.Cells[:n]
		var picture bytes.Buffer
		require.NoError(t, r.WritePicture(&picture, faultNamed(t, "slow")))
		decoded, err := png.Decode(&picture)
		require.NoError(t, err)
		assert.Greater(t, decoded.Bounds().Dx(), 1300)
		heights[n] = decoded.Bounds().Dy()
	}
	assert.Greater(t, heights[7], heights[2])
}

func TestAFileThatIsNoReportIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	require.NoError(t, os.WriteFile(path, []byte("[]"), 0o600))
	_, err := ReadReport(path)
	require.ErrorContains(t, err, path+" is not a report of `lab compare`")
}

// What the project publishes is one run's, untouched, and it explains where it is behind.
func TestTheDocumentsAreWhatTheirFiguresSay(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	report, err := ReadReport(filepath.Join(docs, "comparison.json"))
	require.NoError(t, err)
	assert.Len(t, report.Cells, len(Setups())*len(Faults()))
	assert.Empty(t, report.Broken())
	english, chinese := pages(t, report)
	assert.Equal(t, english, read(t, filepath.Join(docs, "comparison.md")), "lab compare --from docs/comparison.json --out docs")
	assert.Equal(t, chinese, read(t, filepath.Join(docs, "comparison.zh.md")))
	assert.Zero(t, strings.Count(english, "not explained yet"), "reasons.go lacks one")
	for _, fault := range Faults() {
		assert.FileExists(t, filepath.Join(docs, pictureName(fault)))
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
