package wasmhost

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnIDOfAnotherTypeIsNoMetric(t *testing.T) {
	m := newMetrics()
	id, status := m.define(Counter, "n")
	assert.Equal(t, StatusOK, status)
	assert.Equal(t, StatusNotFound, m.increment(id|uint32(Gauge), 1))
	_, status = m.get(id | uint32(Histogram))
	assert.Equal(t, StatusNotFound, status)
}

func TestAHistogramKeepsCountAndSum(t *testing.T) {
	m := newMetrics()
	id, _ := m.define(Histogram, "h")
	assert.Equal(t, StatusOK, m.record(id, 3))
	assert.Equal(t, StatusOK, m.record(id, 4))
	assert.Equal(t, []Metric{{Name: "h", Type: Histogram, Value: 7, Count: 2}}, m.snapshot())
}

func TestTheSameNameWithAnotherTypeIsAnotherMetric(t *testing.T) {
	m := newMetrics()
	counter, _ := m.define(Counter, "n")
	gauge, _ := m.define(Gauge, "n")
	assert.NotEqual(t, counter, gauge)
	m.increment(counter, 1)
	m.increment(gauge, 5)
	assert.Equal(t, int64(1), m.value("n"), "the counter comes first")
}
