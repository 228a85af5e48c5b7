package compare

import "slices"

// reason says why the breaker is behind, where it is.
type reason struct {
	faults, setups []string // nil = any
	columns        []Column // nil = any
	why            Words
}

// reasonFor is the first one that fits.
func reasonFor(fault, setup string, column Column) (Words, bool) {
	fits := func(names []string, name string) bool { return names == nil || slices.Contains(names, name) }
	for _, r := range reasons() {
		if fits(r.faults, fault) && fits(r.setups, setup) && (r.columns == nil || slices.Contains(r.columns, column)) {
			return r.why, true
		}
	}
	return Words{}, false
}

func reasons() []reason {
	felt := []Column{ColumnLanded, ColumnUntilNone, ColumnP50, ColumnP99, ColumnFailed}
	return []reason{
		{
			faults: []string{"one-by-one"}, setups: []string{"breaker-headers"}, columns: felt,
			why: Words{
				"in flight, the threshold is seen while the only client still waits for its late answer: half of the block is over before it sends its next request. A block that begins with the late answer is all its own. Many clients gain from the earlier block, a lone one does not.",
				"在途检查到达阈值时，唯一的客户端还在等那个迟到的响应：等它发出下一个请求，拉黑期已过去一半。若拉黑从迟到的响应算起，整段都归它用。客户端多时早拉黑有利，只有一个时则不然。",
			},
		},
		{
			setups: []string{softName}, columns: felt,
			why: Words{
				"Envoy ejects at the second late answer in a row. Two samples of the breaker lie a window apart, so that one burst is not taken for two faults: its first block comes a moment later.",
				"Envoy 在连续第二个迟到的响应时就摘除；断路器的两个样本要隔开一个窗口，免得把一次突发当成两次故障：第一次拉黑因此稍晚。",
			},
		},
		{
			setups: []string{"least-request"}, columns: felt,
			why: Words{
				"least request avoids an endpoint on which requests pile up from the first second on, without waiting for a threshold, but it never stops sending to it. It is no rival: the breaker leaves balancing to Envoy, whatever its policy, and steps in on top of it.",
				"最少请求从第一秒起就避开请求堆积的端点，不必等阈值，但它永远不会完全停止派发。二者并不冲突：断路器把均衡交给 Envoy（任何策略都行），自己只在其上介入。",
			},
		},
		{
			columns: []Column{ColumnFullShare, ColumnKept},
			why: Words{
				"a block ends with its time, not with the fault. An endpoint that heals during a block waits for the rest of it, up to `block_ttl`, or `block_ttl_max` where blocks have grown; who never takes an endpoint out has nothing to give back.",
				"拉黑按时间结束，不随故障结束。在拉黑期内恢复的端点要等到剩余时间走完，最多一个 `block_ttl`，拉黑时长已增长的则到 `block_ttl_max`；从不摘除端点的，自然也没有什么要归还。",
			},
		},
	}
}
