package tuning

import (
	"fmt"
	"io"
	"strings"
	"time"

	"gonum.org/v1/plot/vg"
)

// Where the columns of the picture are, from left to right.
const (
	stripsFrom, stripsTo = 150, 400
	barsFrom, barsTo     = 500, 620
	rowHeight            = 42
)

// drawReturns draws, for each row of the table, when the slow host got requests, and what one
// that heals has to wait for.
func (r *Report) drawReturns(w io.Writer) error {
	height := vg.Length(heading + 22 + len(r.Returns)*rowHeight + 34)
	p := newPage(height, "One of four hosts is slow for 30 minutes; another time it heals")
	p.legend(
		legendItem{vermillion(), "in service"}, legendItem{orange(), "on probation"}, legendItem{grey(), "blocked"},
		legendItem{blue(), "median until its full share"}, legendItem{skyBlue(), "worst"},
	)
	y := height - heading - 16
	p.write8(stripsFrom, y, rightOf, "slow for 30 minutes")
	p.write8(stripsTo+8, y, rightOf, "requests that hit it")
	p.write8(barsFrom, y, rightOf, "heals: full share again after")
	for _, row := range r.Returns {
		y -= rowHeight
		row.draw(p, y+10)
	}
	for minutes := 0; minutes <= 30; minutes += 10 {
		x := stripX(warmUp + time.Duration(minutes)*time.Minute)
		p.line(faint(), x, y+10, x, y+6)
		p.write8(x, y-6, centred, fmt.Sprintf("%d min", minutes))
	}
	return p.write(w)
}

func (r Return) draw(p page, y vg.Length) {
	const high = 20
	for i, key := range strings.Split(r.Configuration, ", ") {
		p.write8(margin, y+high-9-vg.Length(i)*11, rightOf, key)
	}
	p.box(vermillion(), stripX(warmUp), y, stripX(faultEnds), y+high)
	for _, s := range r.spells {
		p.box(grey(), stripX(s.from), y, stripX(s.probation), y+high)
		p.box(orange(), stripX(s.probation), y, stripX(s.to), y+high)
	}
	p.write8(stripsTo+8, y+6, rightOf, fmt.Sprintf("%d (%s)", r.Hits, percent(r.HitShare)))
	p.box(skyBlue(), barsFrom, y, barX(r.FullShare.Worst), y+high)
	p.box(blue(), barsFrom, y+high/4, barX(r.FullShare.Median), y+high*3/4)
	p.write8(barX(r.FullShare.Worst)+5, y+6, rightOf, r.FullShare.Median.String()+", "+r.FullShare.Worst.String())
}

func stripX(at time.Duration) vg.Length {
	return stripsFrom + (stripsTo-stripsFrom)*vg.Length((at-warmUp).Seconds()/slowFor.Seconds())
}

// barX is linear up to a quarter of an hour, which nothing reaches.
func barX(w wait) vg.Length {
	const most = 15 * time.Minute
	return barsFrom + (barsTo-barsFrom)*vg.Length(min(time.Duration(w), most).Seconds()/most.Seconds())
}
