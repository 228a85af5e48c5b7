package envoy

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// refusal is the line that Envoy logs when it counts one.
const refusal = "Filesystem config update rejected: no"

// told is what an administration interface tells, one answer after the other and then the last
// one again and again: lines of a name and a value.
func told(t *testing.T, answers ...string) (*Envoy, func() int) {
	t.Helper()
	asked, log := 0, newLogBook(nil)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var stats []string
		answer := answers[min(asked, len(answers)-1)]
		if strings.Contains(answer, "update_rejected") || strings.Contains(answer, "update_failure") {
			_, _ = log.Write([]byte(refusal + "\n"))
		}
		for line := range strings.Lines(answer) {
			if name, value, found := strings.Cut(strings.TrimSpace(line), " "); found {
				stats = append(stats, fmt.Sprintf(`{"name":%q,"value":%s}`, name, value))
			}
		}
		asked++
		fmt.Fprintf(w, `{"stats":[%s,{"histograms":{}}]}`, strings.Join(append(stats, `{"name":"x","value":1}`), ","))
	}))
	t.Cleanup(s.Close)
	return &Envoy{
		admin:     admin{address: s.Listener.Addr().String()},
		discovery: &discovery{listener: &watchedFile{version: 2}, name: "ingress"},
		process:   &process{done: make(chan struct{})},
		log:       log,
		workers:   2,
	}, func() int { return asked }
}

// listenerTold is what Envoy tells about a listener.
func listenerTold(version string, modified, warming, accepted int) string {
	return fmt.Sprintf(`listener_manager.lds.version_text %q
		listener_manager.listener_added 1
		listener_manager.listener_modified %d
		listener_manager.total_listeners_warming %d
		listener_manager.listener_create_success %d`, version, modified, warming, accepted)
}

func TestAListenerIsInUseWhenItsVersionIsAndNothingWarmsAndEveryWorkerHasIt(t *testing.T) {
	before := listenerTold("1", 0, 0, 2)
	inUse := listenerTold("2", 1, 0, 4)
	for name, notYet := range map[string]string{
		"the old version":       before,
		"changed, but no word":  listenerTold("1", 1, 0, 4),
		"it waits":              listenerTold("2", 1, 1, 4),
		"no worker has it yet":  listenerTold("2", 1, 0, 2),
		"one worker has it yet": listenerTold("2", 1, 0, 3),
	} {
		t.Run(name, func(t *testing.T) {
			e, asked := told(t, before, notYet, inUse)
			counts, err := e.listenerCounts(t.Context())
			require.NoError(t, err)
			require.NoError(t, e.waitForListener(t.Context(), counts, 0))
			assert.Equal(t, 3, asked())
		})
	}
}

func TestARefusalOfEitherFileEndsTheWaitForTheListener(t *testing.T) {
	before := listenerTold("1", 0, 0, 2)
	for _, counter := range []string{
		"listener_manager.lds.update_rejected", "listener_manager.lds.update_failure",
		"cluster_manager.cds.update_rejected", "cluster_manager.cds.update_failure",
	} {
		t.Run(counter, func(t *testing.T) {
			e, _ := told(t, before, before+"\n"+counter+" 1")
			counts, err := e.listenerCounts(t.Context())
			require.NoError(t, err)
			assert.EqualError(t, e.waitForListener(t.Context(), counts, 0), "Envoy refused the configuration: "+refusal)
		})
	}
}

func TestEndpointsAreInUseWhenTheirVersionIs(t *testing.T) {
	const scope = "cluster.models."
	e, asked := told(t, scope+`version_text "1"`, scope+`version_text "1"`, scope+`version_text "2"`,
		scope+`version_text "2"`, scope+"update_rejected 1")
	file, err := newWatchedFile(t.TempDir()+"/eds", nil...)
	require.NoError(t, err)
	e.discovery.endpoints = map[string]*edsCluster{"models": {file: file, resource: "models", stat: "models"}}
	require.NoError(t, e.SetEndpoints(t.Context(), "models"))
	assert.Equal(t, 3, asked())

	assert.EqualError(t, e.SetEndpoints(t.Context(), "models"), "Envoy refused the configuration: "+refusal)
}

func TestAWaitEndsWithItsContextAndTellsWhatWasWaitedFor(t *testing.T) {
	e, _ := told(t, listenerTold("1", 0, 0, 2))
	_, err := e.log.Write([]byte("what Envoy said last\n"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = e.waitForListener(ctx, listenerCounts{}, 0)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "waiting for the listener")
	assert.ErrorContains(t, err, "what Envoy said last")
}

func TestNoLastWordIsMissed(t *testing.T) {
	for range 50 {
		e, _ := told(t, "")
		found := make(chan error)
		go func() {
			_, err := e.WaitForLog(t.Context(), "last")
			found <- err
		}()
		_, err := e.log.Write([]byte("last\n"))
		require.NoError(t, err)
		close(e.process.done)
		require.NoError(t, <-found)
	}
}
