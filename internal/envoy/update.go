package envoy

import (
	"context"
	"fmt"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
)

// updateTimeout bounds a change for which the caller has set no deadline. Compiling a plugin that
// was not there before takes seconds even on an idle machine.
const updateTimeout = time.Minute

// SetListener replaces the listener and returns when every worker uses the new one for new
// connections; a connection that is open already gets at most one more response under the old one.
// The name must be that of the first listener, and the address stays. A *RefusedError means that
// the old listener goes on.
func (e *Envoy) SetListener(ctx context.Context, l *listenerv3.Listener) error {
	e.updates.Lock()
	defer e.updates.Unlock()
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	if l.GetName() != e.discovery.name {
		return fmt.Errorf("the listener is called %q, not %q", e.discovery.name, l.GetName())
	}
	before, err := e.listenerCounts(ctx)
	if err != nil {
		return err
	}
	logged := e.log.length()
	if err := e.discovery.listener.write(l); err != nil {
		return err
	}
	return e.waitForListener(ctx, before, logged)
}

// SetEndpoints replaces the endpoints, "ip:port", of an EDS cluster and returns when Envoy has
// taken them. Requests to an endpoint that is gone are finished.
func (e *Envoy) SetEndpoints(ctx context.Context, cluster string, addresses ...string) error {
	e.updates.Lock()
	defer e.updates.Unlock()
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	eds := e.discovery.endpoints[cluster]
	if eds == nil {
		return fmt.Errorf("%q is no EDS cluster", cluster)
	}
	assignment, err := eds.assignment(addresses)
	if err != nil {
		return err
	}
	before, err := e.fileCounts(ctx, "cluster."+eds.stat)
	if err != nil {
		return err
	}
	logged := e.log.length()
	if err := eds.file.write(assignment); err != nil {
		return err
	}
	return e.until(ctx, "the endpoints of "+cluster, func(ctx context.Context) (bool, error) {
		now, err := e.fileCounts(ctx, "cluster."+eds.stat)
		if err != nil {
			return false, err
		}
		if now.refused > before.refused {
			return false, e.refused(ctx, logged)
		}
		return now.version == eds.file.versionText(), nil
	})
}

// fileCounts is what Envoy counts about a file that it watches.
type fileCounts struct {
	version string // of what was taken last
	refused float64
}

func (e *Envoy) fileCounts(ctx context.Context, scope string) (fileCounts, error) {
	s, err := e.admin.stats(ctx, scope+".update_", scope+".version_text")
	return s.file(scope), err
}

func (s stats) file(scope string) fileCounts {
	return fileCounts{
		version: s.texts[scope+".version_text"],
		refused: s.numbers[scope+".update_rejected"] + s.numbers[scope+".update_failure"],
	}
}

// listenerCounts is what Envoy counts about its listener, and about what it needs.
type listenerCounts struct {
	fileCounts
	changes  float64 // of the listener, its creation included
	accepted float64 // changes, each counted by every worker that has begun to use it
	warming  float64 // listeners that still wait for something
}

func (e *Envoy) listenerCounts(ctx context.Context) (listenerCounts, error) {
	s, err := e.admin.stats(ctx, "listener_manager.", "cluster_manager.cds.")
	if err != nil {
		return listenerCounts{}, err
	}
	counts := listenerCounts{
		fileCounts: s.file("listener_manager.lds"),
		changes:    s.numbers["listener_manager.listener_added"] + s.numbers["listener_manager.listener_modified"],
		accepted:   s.numbers["listener_manager.listener_create_success"],
		warming:    s.numbers["listener_manager.total_listeners_warming"],
	}
	counts.refused += s.file("cluster_manager.cds").refused
	return counts, nil
}

// waitForListener returns when what was written last is in use on every worker. That a listener
// equals the one in use is no change: Envoy then only notes the version.
func (e *Envoy) waitForListener(ctx context.Context, before listenerCounts, logged int) error {
	return e.until(ctx, "the listener", func(ctx context.Context) (bool, error) {
		now, err := e.listenerCounts(ctx)
		if err != nil {
			return false, err
		}
		if now.refused > before.refused {
			return false, e.refused(ctx, logged)
		}
		expected := before.accepted + (now.changes-before.changes)*float64(e.workers)
		return now.version == e.discovery.listener.versionText() && now.warming == 0 && now.accepted >= expected, nil
	})
}
