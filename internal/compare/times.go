package compare

import "time"

// Scale is how many times faster than deployed everything runs. At this scale the slow
// threshold is 3.5 s: more than a busy machine of two cores ever keeps a request waiting,
// and Run refuses a result from one that does.
const Scale = 20

// The figures of a deployment, scaled. They are the same for every set-up.
const (
	slowThreshold = 70 * time.Second / Scale
	dedupWindow   = 5 * time.Second / Scale
	confirmWindow = 5 * time.Minute / Scale
	blockTTL      = 45 * time.Second / Scale
	blockTTLMax   = 5 * time.Minute / Scale // and of the longest ejection

	// checkInterval is four times what 500ms would be, for the plugin allows no less: the
	// breaker looks less often than it would, never more often.
	checkInterval = 100 * time.Millisecond

	firstToken     = 800 * time.Millisecond / Scale // of a healthy endpoint
	perToken       = 25 * time.Millisecond / Scale
	perPromptToken = 5 * time.Millisecond / Scale
	slowAnswer     = 95 * time.Second / Scale  // what a slow endpoint's first token takes
	clientTimeout  = 120 * time.Second / Scale // then a client has given up
)

// Timeline is when what happens, from the start of the load.
type Timeline struct {
	Fault, Heal, End time.Duration
}

// FullTimeline has a fault of 30 s, which stands for ten minutes.
func FullTimeline() Timeline {
	return Timeline{Fault: 5 * time.Second, Heal: 35 * time.Second, End: 50 * time.Second}
}

// QuickTimeline is for CI.
func QuickTimeline() Timeline {
	return Timeline{Fault: 4 * time.Second, Heal: 19 * time.Second, End: 28 * time.Second}
}
