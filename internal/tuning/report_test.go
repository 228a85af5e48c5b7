package tuning

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/plugintest"
)

const docs = "../../docs"

// The whole run, which takes half a minute: the pages have its figures, and what they say of the
// figures is so.
func TestTheTuningPagesAreWhatTheSimulationGives(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	steps := 0
	report, err := Run(t.Context(), Options{
		Wasm: plugintest.Wasm(t), Progress: func(done, all int, _ string) { steps++; assert.True(t, done == steps && done <= all) },
	})
	require.NoError(t, err)
	assert.Equal(t, len(returns())+len(together())+2*len(workerCounts()), steps)
	t.Run("tables", report.testTables)
	t.Run("pictures", report.testPictures)
	t.Run("return", report.testReturnAdvice)
	t.Run("together", report.testTogetherAdvice)
	t.Run("evidence", report.testEvidenceAdvice)
	t.Run("hiccups", report.testHiccupAdvice)
}

func (r *Report) testTables(t *testing.T) {
	for page, language := range pages() {
		shown, err := os.ReadFile(filepath.Join(docs, page))
		require.NoError(t, err)
		want, err := r.fill(string(shown), language)
		require.NoError(t, err)
		assert.Equal(t, want, string(shown), "go run ./cmd/lab tuning --out docs")
	}
	number := regexp.MustCompile(`\d+(\.\d+)?`)
	english, chinese := r.tables(English), r.tables(Chinese)
	for i := range english {
		for j := range english[i].rows[1:] {
			assert.Equal(t, number.FindAllString(join(english[i].rows[j+1]), -1), number.FindAllString(join(chinese[i].rows[j+1]), -1))
		}
	}
}

func join(cells []string) string { return table{rows: [][]string{cells}}.markdown() }

// Fonts are drawn alike everywhere, but for a few points at the edges.
func (r *Report) testPictures(t *testing.T) {
	for name, draw := range r.pictures() {
		var drawn bytes.Buffer
		require.NoError(t, draw(&drawn))
		want, err := png.Decode(&drawn)
		require.NoError(t, err)
		file, err := os.ReadFile(filepath.Join(docs, name))
		require.NoError(t, err)
		shown, err := png.Decode(bytes.NewReader(file))
		require.NoError(t, err)
		require.Equal(t, want.Bounds(), shown.Bounds(), name)
		assert.Less(t, different(want, shown), 0.0005, "%s: go run ./cmd/lab tuning --out docs", name)
	}
}

func different(a, b image.Image) (part float64) {
	n, bounds := 0, a.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			if a.At(x, y) != b.At(x, y) {
				n++
			}
		}
	}
	return float64(n) / float64(bounds.Dx()*bounds.Dy())
}

func (r *Report) row(t *testing.T, c ...key) Return {
	t.Helper()
	for _, row := range r.Returns {
		if row.Configuration == configuration(c).String() {
			return row
		}
	}
	t.Fatalf("no row %s", configuration(c))
	return Return{}
}

func (r *Report) testReturnAdvice(t *testing.T) {
	usual, long, grows := r.row(t, blockTTL()), r.row(t, longTTL()), r.row(t, growth())
	probed, both := r.row(t, probation()), r.row(t, growth(), probation())
	assert.Less(t, probed.Hits, long.Hits, "probation takes away more than a block_ttl of ten minutes")
	assert.Less(t, probed.HitShare, usual.HitShare/2, "most of them")
	assert.InDelta(t, float64(usual.FullShare.Worst), float64(probed.FullShare.Worst), float64(2*time.Second), "no longer in the worst case")
	assert.Greater(t, probed.FullShare.Median, usual.FullShare.Median, "typically somewhat longer")
	assert.Greater(t, probed.Kept.Median, usual.Kept.Median)
	for _, slow := range []Return{long, grows, both} {
		assert.Greater(t, slow.FullShare.Worst, usual.FullShare.Worst+wait(5*time.Minute), "%s: longer by minutes", slow.Configuration)
	}
	assert.Less(t, grows.Hits, usual.Hits/2, "growth by itself takes away more than half")
	assert.Less(t, probed.HitShare-both.HitShare, 0.05, "with probation, growth saves few requests more")
	assert.Greater(t, both.FullShare.Median, 2*probed.FullShare.Median, "and the host waits for several times as long")
	assert.Less(t, r.row(t, growth(), jitter()).FullShare.Worst, grows.FullShare.Worst, "jitter only shortens")
}

func (r *Report) testTogetherAdvice(t *testing.T) {
	none, most := r.Togethers[0], r.Togethers[len(r.Togethers)-1]
	assert.Less(t, none.closeTogether(), len(none.Apart)/2, "most do not end at the same moment without jitter")
	assert.Greater(t, most.Apart[len(most.Apart)/2], 2*none.Apart[len(none.Apart)/2], "with it they are further apart")
}

func (r *Report) testEvidenceAdvice(t *testing.T) {
	few, many := r.Evidences[:len(rates())], r.Evidences[len(r.Evidences)-len(rates()):]
	for i := range few {
		assert.InEpsilon(t, float64(few[i].Shared.Median), float64(many[i].Shared.Median), 0.1, "%g/s: shared hardly depends on the workers", few[i].Rate)
		assert.Equal(t, few[i].Worker, few[i].Shared, "of one worker they are the same")
	}
	for _, row := range r.Evidences {
		assert.Less(t, max(row.Worker.Worst, row.Shared.Worst), never, "none takes an hour")
	}
	last := len(rates()) - 1
	assert.InEpsilon(t, float64(many[last].Shared.Median), float64(many[last].Worker.Median), 0.05, "with many requests both are the same")
	for i := len(rates()); i < len(r.Evidences); i += len(rates()) {
		before, now := r.Evidences[i-len(rates())], r.Evidences[i]
		assert.Greater(t, now.Worker.Median, before.Worker.Median, "with few requests worker takes longer the more workers there are")
		assert.Greater(t, now.Worker.Median, now.Shared.Median)
	}
}

func (r *Report) testHiccupAdvice(t *testing.T) {
	alone := r.Hiccups[0]
	for i, row := range r.Hiccups {
		assert.Equal(t, typical[int]{1, 1}, row.Shared.Samples, "a burst over all workers is one sample")
		assert.Greater(t, row.Worker.Slow.Median, 10)
		assert.Zero(t, row.Worker.BlockedByOne+row.Shared.BlockedByOne)
		assert.LessOrEqual(t, row.Shared.BlockedByTwo, alone.Worker.BlockedByTwo, "no more often than with a single worker")
		if i == 0 {
			continue
		}
		assert.Greater(t, row.Worker.Samples.Median, r.Hiccups[i-1].Worker.Samples.Median, "worker: one for each")
		assert.Less(t, row.Worker.BlockedByTwo, row.Shared.BlockedByTwo)
	}
}
