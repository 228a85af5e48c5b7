package compare

import "time"

// step is how long a column of a picture is.
const step = time.Second

// Shares counts the requests that each endpoint got in each second of the run.
type Shares [][endpointCount]int

func (t *traffic) shares() Shares {
	shares := make(Shares, (t.timeline.End+step-1)/step)
	for _, l := range t.landings {
		if i := int(l.at / step); l.at >= 0 && i < len(shares) {
			shares[i][l.endpoint]++
		}
	}
	return shares
}
