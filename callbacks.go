package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm"
	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm/types"
)

// onRequest chooses a host, if anything is blocked that the request could meet.
func (p *plugin) onRequest(q *request, bodyToCome bool, now instant) types.Action {
	chosen, cluster, err := p.choose(q.rule, now)
	if err != nil {
		p.hostCallFailed(err, now)
		return types.ActionContinue
	}
	if chosen.capped {
		p.meters.decision(metricCappedRequests, q.rule, cluster)
	}
	if chosen.bypass {
		p.meters.decision(metricBypasses, q.rule, cluster)
		p.logs.limited(logBypass, cluster, now, "mode=%s cluster=%q: too few endpoints are left, Envoy balances over all", q.rule.mode, cluster)
	}
	if chosen.address == "" {
		return types.ActionContinue
	}
	if q.rule.observes() {
		p.meters.decision(metricOverrides, q.rule, cluster)
		return types.ActionContinue
	}
	if err := p.upstream.override(chosen.address); err != nil {
		p.hostCallFailed(err, now)
		return types.ActionContinue
	}
	p.meters.decision(metricOverrides, q.rule, cluster)
	q.override = p.selector.place(cluster, chosen.address)
	if q.probe = chosen.probe; q.probe != (entryKey{}) {
		p.meters.decision(metricProbes, q.rule, cluster)
		p.selector.probation.begin(q.probe)
	}
	action, err := p.upstream.actionAfterOverride(bodyToCome)
	if err != nil {
		p.hostCallFailed(err, now)
	}
	return action
}

// choose asks the host no more than it needs to know: most requests meet no block and cost
// one call.
func (p *plugin) choose(r *rule, now instant) (chosen choice, cluster string, err error) {
	list, err := p.breaker.store.read(now)
	if err != nil || !p.selector.mayConcern(r, list, now) {
		return choice{}, "", err
	}
	cluster, err = clusterName()
	if err != nil || cluster == "" || !p.selector.concerns(r, cluster, list, now) {
		return choice{}, cluster, err
	}
	hosts, err := p.upstream.list(r, cluster, now)
	if err != nil {
		return choice{}, cluster, err
	}
	return p.selector.choose(r, cluster, hosts, list, now), cluster, nil
}

// onComplete starts the clock.
func (p *plugin) onComplete(q *request, now instant) {
	if q.complete(now) {
		p.inflight.watch(q)
	}
}

// onResponse is told the response headers, and who made them.
func (p *plugin) onResponse(q *request, by ending, byFirstChunk, ended bool, now instant) {
	if by != endedByEndpoint {
		p.unanswered(q, by, now)
		return
	}
	measured, late := q.answer(byFirstChunk, ended, now)
	switch {
	case !measured:
		p.watch(q)
	case byFirstChunk:
		p.measured(q, late, reasonFirstChunk, q.rule.firstChunkThreshold, now)
	default:
		p.measured(q, late, reasonHeaders, q.rule.slowThreshold, now)
	}
}

// onChunk is told the first chunk, or the end of a response without one.
func (p *plugin) onChunk(q *request, ended bool, now instant) {
	late := q.chunk(ended, now)
	p.measured(q, late, reasonFirstChunk, q.rule.firstChunkThreshold, now)
}

// measured takes the answer of an endpoint.
func (p *plugin) measured(q *request, late bool, why reason, threshold time.Duration, now instant) {
	if !late {
		p.watch(q)
		p.inTime(q, now)
		return
	}
	p.inflight.forget(q)
	a, cluster, err := whoHasIt()
	if err != nil {
		p.hostCallFailed(err, now)
		return
	}
	if a.endpoint == "" {
		q.settle()
		return
	}
	if s, known := q.share(a, threshold, now, now); known {
		p.accuse(q, a.endpoint, cluster, s, why, now)
	} else {
		q.awaitEnd(why, threshold, now)
	}
}

// watch has the tick look at the request, as long as there is anything to look at.
func (p *plugin) watch(q *request) {
	if q.phase == phaseSettled {
		p.inflight.forget(q)
		return
	}
	p.inflight.watch(q)
}

// inTime takes an answer that is no sample. Whose it is matters only to a probe, and to rules
// that ask for the share of slow requests.
func (p *plugin) inTime(q *request, now instant) {
	if q.rule.minSlowPercent == 0 && q.probe == (entryKey{}) {
		return
	}
	a, cluster, err := whoHasIt()
	switch {
	case err != nil:
		p.hostCallFailed(err, now)
	case a.endpoint == "":
	default:
		p.breaker.inTime(q.rule, cluster, a.endpoint, now)
		p.probePassed(q, a.endpoint, now)
	}
}

// probePassed ends the probation of the endpoint that the request was a probe for.
func (p *plugin) probePassed(q *request, endpoint string, now instant) {
	if e, known := p.breaker.store.parsed.find(q.probe.cluster, q.probe.endpoint, q.probe.observed); known && q.probe.endpoint == endpoint {
		p.selector.probation.pass(q.probe, e.Since, now)
	}
	p.probeOver(q)
}

// probeOver lets this worker send the next probe.
func (p *plugin) probeOver(q *request) {
	p.selector.probation.end(q.probe)
	q.probe = entryKey{}
}

// unanswered ends the account of a request that no endpoint will answer any more. Past the
// threshold the endpoint that had it is late, whatever ended it. Before, a timeout says that it
// used up all the time that the route gives, and a client that leaves says something only to rules
// with count_aborts_after.
func (p *plugin) unanswered(q *request, by ending, now instant) {
	overdue, timed := q.overdue(now), q.timed()
	threshold := q.patience()
	q.settle()
	p.inflight.forget(q)
	switch {
	case !timed:
	case by == endedByTryTimeout && q.rule.countTimeouts:
		p.endedLate(q, reasonTimeout, 0, now, now)
	case by == endedByTimeout && q.rule.countTimeouts:
		p.endedLate(q, reasonTimeout, threshold, min(q.deadline, now), now)
	case overdue:
		p.endedLate(q, reasonInFlight, threshold, q.deadline, now)
	case by == endedByTimeout || by == endedByTryTimeout:
		p.timeoutUncounted(q.rule)
	case by == endedByClient && q.rule.countAbortsAfter > 0 && q.waited(now) >= q.rule.countAbortsAfter:
		p.endedLate(q, reasonAborted, q.rule.countAbortsAfter, now, now)
	}
}

// endedLate takes the sample of a request that has ended without an answer. A threshold of 0 means
// that the last attempt is known to have had its share.
func (p *plugin) endedLate(q *request, why reason, threshold time.Duration, reached, now instant) {
	a, cluster, err := whoHasIt()
	if err != nil {
		p.hostCallFailed(err, now)
		return
	}
	if a.endpoint == "" {
		return
	}
	s, known := q.share(a, threshold, reached, now)
	switch {
	case known:
	case threshold == 0: // when the attempt began is not known: as if with the request
		s = sample{started: q.chosen, reached: reached}
	default:
		p.meters.cluster(metricSamplesUnattributed, cluster)
		return
	}
	p.accuse(q, a.endpoint, cluster, s, why, now)
}

// timeoutUncounted warns once of a rule that may never find anything.
func (p *plugin) timeoutUncounted(r *rule) {
	if p.warnedOfTimeouts[r] {
		return
	}
	p.warnedOfTimeouts[r] = true
	p.logs.always(logConfig, "warning: a request has timed out before slow_threshold=%s, and count_timeouts=false: "+
		"with timeouts this short nothing slow is found", r.slowThreshold)
}

// onTick takes the samples of the requests that have waited for their threshold; their answers
// may come in minutes or never. Each counts from the moment it became late, which does not
// depend on when the tick comes.
func (p *plugin) onTick(now instant) {
	for q := p.inflight.takeOverdue(now); q != nil; q = p.inflight.takeOverdue(now) {
		if !p.look(q, now) {
			p.inflight.watch(q)
		}
	}
}

// look takes the sample of a request in flight, whose stream is not the current one. It reports
// whether that is done; else the request says when to look again.
func (p *plugin) look(q *request, now instant) (done bool) {
	if err := proxywasm.SetEffectiveContext(q.contextID); err != nil {
		p.hostCallFailed(fmt.Errorf("proxy_set_effective_context: %w", err), now)
		q.lookAgain(now)
		return false
	}
	a, cluster, err := whoHasIt()
	if err != nil {
		p.hostCallFailed(err, now)
		q.lookAgain(now)
		return false
	}
	switch s, known := q.share(a, q.patience(), q.deadline, now); {
	case q.streams():
		p.stalled(q, a, cluster, now)
	case a.endpoint == "":
		q.restart(now)
		return false
	case !known:
		q.note(a, q.patience(), now)
		return false
	default:
		p.accuse(q, a.endpoint, cluster, s, reasonInFlight, now)
	}
	return true
}

// stalled takes the sample of a response that has not gone on. Who gives it is known, however
// many attempts it took.
func (p *plugin) stalled(q *request, a attempt, cluster string, now instant) {
	s := sample{started: q.chosen, reached: q.lastByte.add(q.rule.stallThreshold)}
	if a.endpoint == "" {
		q.settle()
		return
	}
	p.accuse(q, a.endpoint, cluster, s, reasonStalled, now)
}

// onDone ends the account of a stream.
func (p *plugin) onDone(q *request) {
	p.inflight.forget(q)
	p.selector.release(q.override)
	if q.phase != phaseSettled {
		if now := monotonicNow(); now != unknown {
			p.ended(q, now)
		}
	}
	p.probeOver(q)
}

// ended takes what the end of a stream still tells.
func (p *plugin) ended(q *request, now instant) {
	switch {
	case q.phase == phaseEnd:
		p.lastAttempt(q, now)
	case q.stalled(now):
		a, cluster, err := whoHasIt()
		if err != nil {
			p.hostCallFailed(err, now)
			return
		}
		p.stalled(q, a, cluster, now)
	case q.timed():
		details, err := responseDetails()
		if err != nil {
			p.hostCallFailed(err, now)
		}
		p.unanswered(q, endingOf(details), now)
	}
}

// lastAttempt takes the sample of an answer that was late after several attempts, if the last one
// alone was.
func (p *plugin) lastAttempt(q *request, now instant) {
	a, cluster, err := whoHasIt()
	if err != nil {
		p.hostCallFailed(err, now)
		return
	}
	took, known, err := lastAttemptTook()
	if err != nil {
		p.hostCallFailed(err, now)
	}
	s, own := q.ownShare(took, now)
	if !known || !own || a.endpoint == "" {
		q.settle()
		p.meters.cluster(metricSamplesUnattributed, cluster)
		return
	}
	p.accuse(q, a.endpoint, cluster, s, q.late, now)
}

// accuse hands the sample of a request to the breaker, under the name of the endpoint that it is
// owed to. It is the request's last.
func (p *plugin) accuse(q *request, endpoint, cluster string, s sample, why reason, now instant) {
	q.settle()
	if asked := q.override.address; asked != "" && asked != endpoint {
		p.meters.cluster(metricOverridesMissed, cluster)
	}
	s.probe = q.probe.endpoint != "" && q.probe.endpoint == endpoint
	p.probeOver(q)
	v, err := p.breaker.observe(q.rule, cluster, endpoint, s, why, now)
	p.sharedDataUsed(v.conflicts, err, now)
	p.report(q.rule, cluster, v, now)
}

// whoHasIt returns the attempt and its cluster.
func whoHasIt() (a attempt, cluster string, err error) {
	a, err = currentAttempt()
	if err != nil || a.endpoint == "" {
		return a, "", err
	}
	cluster, err = clusterName()
	if err == nil && cluster == "" {
		err = errors.New("property cluster_name: missing beside an upstream.address")
	}
	return a, cluster, err
}

// sharedDataUsed counts and logs how an access to SharedData went. What a write that gave up was
// to say is not lost: the next sample, or the next answer, says it again.
func (p *plugin) sharedDataUsed(conflicts int, err error, now instant) {
	p.meters.gateway(metricCASConflicts, conflicts)
	switch {
	case errors.Is(err, errCASGiveUp):
		p.meters.gateway(metricCASGiveUps, 1)
		p.logs.limited(logError, "give-up", now, "%v; it will be tried again", err)
	case err != nil:
		p.hostCallFailed(err, now)
	}
}

// report counts and logs what became of a sample.
func (p *plugin) report(r *rule, cluster string, v verdict, now instant) {
	switch v.outcome {
	case outcomeStale:
		p.meters.cluster(metricSamplesStale, cluster)
	case outcomeDeduplicated:
		p.meters.cluster(metricSamplesDeduplicated, cluster)
	case outcomeCounted:
		p.meters.cluster(metricSamples, cluster)
	case outcomeBlocked:
		p.meters.cluster(metricSamples, cluster)
		p.meters.decision(metricBlocks, r, cluster)
		p.logs.always(logBlock, "mode=%s cluster=%q endpoint=%s for=%s strikes=%d reason=%s confirmed=%d",
			r.mode, cluster, v.entry.Endpoint, v.entry.Until.since(now), v.entry.Strikes, v.entry.Reason, v.confirmed)
	case outcomeExtended:
		p.meters.cluster(metricSamples, cluster)
		p.meters.decision(metricExtensions, r, cluster)
		p.logs.limited(logExtend, cluster, now, "mode=%s cluster=%q endpoint=%s for=%s strikes=%d reason=%s",
			r.mode, cluster, v.entry.Endpoint, v.entry.Until.since(now), v.entry.Strikes, v.entry.Reason)
	}
}
