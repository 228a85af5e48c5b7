package wasmhost

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// hostLines are the lines of the log that the host itself wrote.
func (p *probe) hostLines() []string {
	var lines []string
	for _, line := range p.heard() {
		if line.Source == FromHost {
			lines = append(lines, line.String())
		}
	}
	return lines
}

func TestWhatOnlyHigressHasIsNamedOnceInTheLog(t *testing.T) {
	for script, what := range map[string]string{
		"property source.address":               "property source.address",
		"property node":                         "property node",
		"property node.metadata.NAME":           "property node.metadata.NAME",
		"property request.protocol":             "property request.protocol",
		"foreign set_envoy_filter_state":        "foreign function set_envoy_filter_state",
		"property connection.id; property node": "property connection.id",
	} {
		t.Run(script, func(t *testing.T) {
			p := startProbe(t)
			s := p.open()
			defer closeStreamOf(t, s)
			flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-headers", script+"; "+script), true))
			lines := p.hostLines()
			assert.Contains(t, lines, "[warning] [worker 0] [host] "+what+" is not modelled")
			assert.LessOrEqual(t, len(lines), 2, "once each")
		})
	}
}

func TestWhatNobodyHasIsNotFoundInSilence(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	s.SetProperty("source.address", []byte("10.0.0.1:1"))
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-headers",
		"property nodes; property upstream.address; property request.unheard-of; property source.address"), true))
	assert.Empty(t, p.hostLines())
}
