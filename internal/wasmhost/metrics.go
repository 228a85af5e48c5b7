package wasmhost

import (
	"cmp"
	"slices"
	"sync"
)

// MetricType is the kind of a metric, with the ABI's numbers.
type MetricType uint32

// The kinds of metrics.
const (
	Counter   MetricType = 0
	Gauge     MetricType = 1
	Histogram MetricType = 2
)

// Metric is one metric as it stands. Names are as the plugin gave them; Envoy
// prefixes them with "wasmcustom.".
type Metric struct {
	Name  string
	Type  MetricType
	Value int64 // counter or gauge; for a histogram the sum of what was recorded
	Count int64 // histogram: how many values were recorded; else 0
}

// metrics holds the metrics of all VMs: one name and type is one metric,
// whoever defines it. The rules are those of Envoy's context.cc (defineMetric,
// incrementMetric, recordMetric, getMetric).
type metrics struct {
	mu   sync.Mutex
	ids  map[metricKey]uint32
	list []*Metric
}

type metricKey struct {
	name string
	kind MetricType
}

// As in Envoy the lowest two bits of an id are the type.
const metricTypeBits = 2

func newMetrics() *metrics { return &metrics{ids: map[metricKey]uint32{}} }

func (m *metrics) define(kind MetricType, name string) (uint32, Status) {
	if kind > Histogram {
		return 0, StatusBadArgument
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := metricKey{name, kind}
	if id, found := m.ids[key]; found {
		return id, StatusOK
	}
	id := uint32(len(m.list))<<metricTypeBits | uint32(kind)
	m.list = append(m.list, &Metric{Name: name, Type: kind})
	m.ids[key] = id
	return id, StatusOK
}

// increment answers StatusBadArgument to an offset below 1 of a counter, and to
// any offset of a histogram.
func (m *metrics) increment(id uint32, offset int64) Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	metric := m.find(id)
	switch {
	case metric == nil:
		return StatusNotFound
	case metric.Type == Histogram, metric.Type == Counter && offset <= 0:
		return StatusBadArgument
	}
	metric.Value += offset
	return StatusOK
}

// record adds to a counter, sets a gauge, and takes a value into a histogram.
func (m *metrics) record(id uint32, value uint64) Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	metric := m.find(id)
	if metric == nil {
		return StatusNotFound
	}
	switch metric.Type {
	case Gauge:
		metric.Value = int64(value)
	case Histogram:
		metric.Count++
		metric.Value += int64(value)
	default:
		metric.Value += int64(value)
	}
	return StatusOK
}

// get answers StatusBadArgument for a histogram.
func (m *metrics) get(id uint32) (uint64, Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	metric := m.find(id)
	switch {
	case metric == nil:
		return 0, StatusNotFound
	case metric.Type == Histogram:
		return 0, StatusBadArgument
	}
	return uint64(metric.Value), StatusOK
}

// value gives the first metric of that name, 0 when there is none.
func (m *metrics) value(name string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	for kind := Counter; kind <= Histogram; kind++ {
		if id, found := m.ids[metricKey{name, kind}]; found {
			return m.find(id).Value
		}
	}
	return 0
}

func (m *metrics) snapshot() []Metric {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Metric, len(m.list))
	for i, metric := range m.list {
		out[i] = *metric
	}
	slices.SortFunc(out, func(a, b Metric) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type))
	})
	return out
}

// find must run with the lock held.
func (m *metrics) find(id uint32) *Metric {
	index := id >> metricTypeBits
	if int(index) >= len(m.list) {
		return nil
	}
	metric := m.list[index]
	if metric.Type != MetricType(id&(1<<metricTypeBits-1)) {
		return nil
	}
	return metric
}
