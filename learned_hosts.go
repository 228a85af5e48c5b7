//go:build envoy

package main

import (
	"slices"
	"time"
)

// A stock Envoy does not tell a plugin which hosts a cluster has, but each response tells where
// it came from. From that the workers learn the hosts together (docs/design.md, "Two builds").

// hostsKey is the second key in SharedData, for the hosts of all clusters.
const hostsKey = "endpoint-breaker.hosts"

const (
	// forgetHostAfter is how long a host stays known without an answer of it.
	forgetHostAfter = 10 * time.Minute
	// refreshHostAfter is how old the memory of a host gets before an answer of it is written
	// down again.
	refreshHostAfter = forgetHostAfter / 2
	// mostHosts bounds the document. Beyond it nobody is learned: to take turns would be a write
	// for each answer.
	mostHosts = 4096
)

// learnedHost is a host that has answered.
type learnedHost struct {
	Cluster  string  `json:"cluster"`
	Endpoint string  `json:"endpoint"`
	Seen     instant `json:"seen"` // when it answered, give or take refreshHostAfter
}

// valid reports whether a host like this can have been written by now.
func (h learnedHost) valid(now instant) bool {
	return h.Cluster != "" && h.Endpoint != "" && h.Seen > unknown && h.Seen <= now.add(readerLag)
}

// hostKey is a host of a cluster.
type hostKey struct{ cluster, endpoint string }

func (h learnedHost) is(cluster, endpoint string) bool {
	return h.Cluster == cluster && h.Endpoint == endpoint
}

// hostList is one state of what the workers know of all clusters. It is never changed.
type hostList struct {
	hosts     []learnedHost
	byCluster map[string][]learnedHost
}

func newHostList(hosts []learnedHost) *hostList {
	list := &hostList{hosts: append([]learnedHost{}, hosts...), byCluster: map[string][]learnedHost{}}
	for _, h := range hosts {
		list.byCluster[h.Cluster] = append(list.byCluster[h.Cluster], h)
	}
	return list
}

func (l *hostList) find(cluster, endpoint string) (learnedHost, bool) {
	for _, h := range l.byCluster[cluster] {
		if h.Endpoint == endpoint {
			return h, true
		}
	}
	return learnedHost{}, false
}

// knows reports whether the host is there, and an answer of it need not be written down.
func (l *hostList) knows(cluster, endpoint string, now instant) bool {
	h, found := l.find(cluster, endpoint)
	return found && now.since(h.Seen) < refreshHostAfter
}

// full reports whether nobody more is learned before somebody is forgotten.
func (l *hostList) full() bool { return len(l.hosts) >= mostHosts }

// with returns the list with a host that has just answered, and of the others those that are
// to be kept. It is not ok where there is no room.
func (l *hostList) with(h learnedHost, keep func(learnedHost) bool) (next *hostList, ok bool) {
	hosts := make([]learnedHost, 0, len(l.hosts)+1)
	for _, old := range l.hosts {
		if keep(old) && !old.is(h.Cluster, h.Endpoint) {
			hosts = append(hosts, old)
		}
	}
	if len(hosts) == mostHosts {
		return nil, false
	}
	return newHostList(append(hosts, h)), true
}

// without returns the list without a host, and whether that is another one.
func (l *hostList) without(cluster, endpoint string) (next *hostList, changed bool) {
	if _, known := l.find(cluster, endpoint); !known {
		return l, false
	}
	kept := slices.DeleteFunc(slices.Clone(l.hosts), func(h learnedHost) bool {
		return h.is(cluster, endpoint)
	})
	return newHostList(kept), true
}

// hostsField is the list's name in SharedData.
const hostsField = "hosts"

func (l *hostList) encode() []byte { return encodeDocument(field{hostsField, l.hosts}) }

// decodeHosts returns what can be believed of the stored value, at worst an empty list, and an
// error that says what could not.
func decodeHosts(value []byte, now instant) (*hostList, error) {
	document, err := openDocument("learned hosts", value)
	if err != nil {
		return newHostList(nil), err
	}
	hosts, err := entriesOf[learnedHost](document, hostsField, now)
	return newHostList(hosts), err
}

// hostStore is one worker's access to the list.
type hostStore struct {
	*sharedDocument[*hostList]
	blocks *blockStore
	readAt instant
}

func newHostStore(data sharedData, blocks *blockStore, onDamage func(error)) *hostStore {
	return &hostStore{sharedDocument: newSharedDocument(data, hostsKey, decodeHosts, onDamage), blocks: blocks}
}

// see notes that a host has answered. Most answers change nothing and cost no host call: the
// list is written when the host is new to it or was written down long ago.
func (s *hostStore) see(cluster, endpoint string, now instant) (conflicts int, err error) {
	fresh, err := s.refresh(now)
	if err != nil || s.parsed.knows(cluster, endpoint, now) || !fresh && s.parsed.full() {
		return 0, err
	}
	return s.write(now, func(list *hostList) (*hostList, bool) {
		if list.knows(cluster, endpoint, now) { // another worker was faster
			return nil, false
		}
		return list.with(learnedHost{cluster, endpoint, now}, func(h learnedHost) bool { return s.remembers(h, now) })
	})
}

// drop forgets a host at once: a connection to it failed, or Envoy would not take it.
func (s *hostStore) drop(cluster, endpoint string, now instant) (conflicts int, err error) {
	return s.write(now, func(list *hostList) (*hostList, bool) { return list.without(cluster, endpoint) })
}

// readHostsAfter is how old a worker's view of the hosts may get. They may be many, and each read
// copies them all.
const readHostsAfter = time.Second

// refresh reads the list if the last time is long enough ago, and reports whether it has.
func (s *hostStore) refresh(now instant) (fresh bool, err error) {
	if now.since(s.readAt) < readHostsAfter {
		return false, nil
	}
	if _, err := s.read(now); err != nil {
		return false, err
	}
	s.readAt = now
	return true, nil
}

// write is update; what this worker has written it sees at once.
func (s *hostStore) write(now instant, change func(*hostList) (*hostList, bool)) (conflicts int, err error) {
	return s.update(now, func(list *hostList) (next *hostList, ok bool) {
		if next, ok = change(list); ok {
			s.readAt = unknown
		}
		return next, ok
	})
}

// remembers reports whether a host is still taken for one of its cluster: it has answered not
// long ago, or is kept from answering.
func (s *hostStore) remembers(h learnedHost, now instant) bool {
	if now.since(h.Seen) < forgetHostAfter {
		return true
	}
	_, enforced := s.blocks.parsed.find(h.Cluster, h.Endpoint, false)
	_, observed := s.blocks.parsed.find(h.Cluster, h.Endpoint, true)
	return enforced || observed
}

// list returns the hosts that are known of the cluster, which are those that were learned and
// those that are blocked, as far as it concerns a rule that observes or not. The slice is
// appended to into.
func (s *hostStore) list(into []host, cluster string, observed bool, now instant) ([]host, error) {
	if _, err := s.refresh(now); err != nil {
		return nil, err
	}
	known := s.parsed
	for _, h := range known.byCluster[cluster] {
		if s.remembers(h, now) {
			into = append(into, host{address: h.Endpoint, healthy: true})
		}
	}
	for _, e := range s.blocks.parsed.entries {
		if e.Cluster != cluster || e.Observed != observed || !e.blocks(now) {
			continue
		}
		if _, learned := known.find(cluster, e.Endpoint); !learned {
			into = append(into, host{address: e.Endpoint, healthy: true})
		}
	}
	return into, nil
}

// misses are the hosts that a request was to go to, and that it was a retry which went elsewhere.
// Whether they refused the connection or answered something that the route retries nobody tells.
type misses map[hostKey]bool

// enough reports whether a miss is reason to forget the host: without a retry Envoy would not take
// it; with one it is the second in a row.
func (m misses) enough(host hostKey, retried bool) bool {
	if !retried || m[host] {
		delete(m, host)
		return true
	}
	if len(m) == mostHosts {
		clear(m)
	}
	m[host] = true
	return false
}

// forget notes that the host has had a request that was for it.
func (m misses) forget(host hostKey) { delete(m, host) }
