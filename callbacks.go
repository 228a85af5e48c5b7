package main

import (
	"errors"
	"fmt"

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
	if err != nil || r.override == overrideWhenBlocked && !list.blocksAny(r.observes(), now) {
		return choice{}, "", err
	}
	cluster, err = clusterName()
	if err != nil || cluster == "" || r.override == overrideWhenBlocked && !list.blocksIn(cluster, r.observes(), now) {
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

// onResponse measures the answer at its headers, or leaves that to its first chunk.
func (p *plugin) onResponse(q *request, byFirstChunk, ended bool, now instant) {
	overdue := q.overdue(now)
	late := q.answer(byFirstChunk, ended, now)
	if !q.settled {
		p.inflight.watch(q)
		return
	}
	p.inflight.forget(q)
	switch {
	case late && byFirstChunk:
		p.lateAnswer(q, reasonFirstChunk, overdue, now)
	case late:
		p.lateAnswer(q, reasonHeaders, overdue, now)
	}
}

// onChunk measures the answer at its first chunk.
func (p *plugin) onChunk(q *request, now instant) {
	overdue := q.overdue(now)
	late := q.chunk(now)
	p.inflight.forget(q)
	if late {
		p.lateAnswer(q, reasonFirstChunk, overdue, now)
	}
}

// lateAnswer takes the sample of an answer that was measured. A reply that is not an endpoint's
// measures nothing; but when Envoy gave up waiting, an endpoint had the request until then.
func (p *plugin) lateAnswer(q *request, why reason, overdue bool, now instant) {
	answered, err := fromUpstream()
	switch {
	case err != nil:
		p.hostCallFailed(err, now)
	case answered:
		p.sample(q, why, now, now)
	case overdue:
		p.sample(q, reasonInFlight, q.deadline, now)
	}
}

// onTick takes the samples of the requests that have waited for their threshold; their answers
// may come in minutes or never. Each counts from the moment it became late, which does not
// depend on when the tick comes.
func (p *plugin) onTick(now instant) {
	for q := p.inflight.takeOverdue(now); q != nil; q = p.inflight.takeOverdue(now) {
		switch p.look(q, now) {
		case blameNobody:
			q.restart(now)
			p.inflight.watch(q)
		case blameUnknown:
			q.lookAgain(now)
			p.inflight.watch(q)
		}
	}
}

// look takes the sample of a request in flight, whose stream is not the current one.
func (p *plugin) look(q *request, now instant) blame {
	if err := proxywasm.SetEffectiveContext(q.contextID); err != nil {
		p.hostCallFailed(fmt.Errorf("proxy_set_effective_context: %w", err), now)
		return blameUnknown
	}
	return p.sample(q, reasonInFlight, q.deadline, now)
}

// onDone ends the account of a stream. If it was past its threshold and nothing came back, it
// is late whatever ended it.
func (p *plugin) onDone(q *request) {
	p.inflight.forget(q)
	p.selector.release(q.override)
	if q.timed() {
		if now := monotonicNow(); q.overdue(now) {
			p.sample(q, reasonInFlight, q.deadline, now)
		}
	}
}

// sample hands a late request of the current stream to the breaker, under the name of the
// endpoint that it is owed to. Unless that is unknown or nobody yet, it is the request's last.
func (p *plugin) sample(q *request, why reason, reached, now instant) blame {
	endpoint, cluster, who, err := owedTo()
	if err != nil {
		p.hostCallFailed(err, now)
		return blameUnknown
	}
	if who == blameNobody {
		return blameNobody
	}
	q.settled = true
	if who == blameUnclear {
		p.meters.cluster(metricSamplesUnattributed, cluster)
		return blameUnclear
	}
	if asked := q.override.address; asked != "" && asked != endpoint {
		p.meters.cluster(metricOverridesMissed, cluster)
	}
	v, err := p.breaker.observe(q.rule, cluster, endpoint, sample{started: q.chosen, reached: reached}, why, now)
	p.sharedDataUsed(v.conflicts, err, now)
	p.report(q.rule, cluster, v, now)
	return blameEndpoint
}

// owedTo returns the endpoint and its cluster.
func owedTo() (endpoint, cluster string, who blame, err error) {
	endpoint, who, err = culprit()
	if err != nil || who == blameNobody {
		return "", "", who, err
	}
	cluster, err = clusterName()
	if err == nil && cluster == "" {
		err = errors.New("property cluster_name: missing beside an upstream.address")
	}
	return endpoint, cluster, who, err
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
			r.mode, cluster, v.entry.Endpoint, v.entry.Until.since(now), v.entry.Strikes, v.entry.Reason, r.confirmCount)
	case outcomeExtended:
		p.meters.cluster(metricSamples, cluster)
		p.meters.decision(metricExtensions, r, cluster)
		p.logs.limited(logExtend, cluster, now, "mode=%s cluster=%q endpoint=%s for=%s strikes=%d reason=%s",
			r.mode, cluster, v.entry.Endpoint, v.entry.Until.since(now), v.entry.Strikes, v.entry.Reason)
	}
}
