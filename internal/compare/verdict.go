package compare

import (
	"math"
	"time"
)

// Column is one of the figures that a verdict looks at.
type Column string

// The columns. The first five are what clients feel while the fault lasts; the last two are
// what it costs to protect them.
const (
	ColumnLanded    Column = "landed"
	ColumnUntilNone Column = "until none"
	ColumnP50       Column = "P50"
	ColumnP99       Column = "P99"
	ColumnFailed    Column = "failed"
	ColumnFullShare Column = "full share"
	ColumnKept      Column = "kept"
)

// Columns are all of them, as they stand in the tables.
func Columns() []Column {
	return []Column{ColumnLanded, ColumnUntilNone, ColumnP50, ColumnP99, ColumnFailed, ColumnFullShare, ColumnKept}
}

// felt tells whether clients feel it.
func (c Column) felt() bool { return c != ColumnFullShare && c != ColumnKept }

// Word is a verdict in one word.
type Word string

// The words, as the breaker stands against another set-up.
const (
	Ahead  Word = "ahead"
	Equal  Word = "equal"
	Behind Word = "behind"
	Mixed  Word = "mixed" // ahead in what clients feel, and behind in what they feel
)

// Verdict is how the breaker stands against another set-up under one fault.
type Verdict struct {
	Word          Word
	Ahead, Behind []Column
}

// Judge compares what clients feel; where that is equal the costs decide. A difference counts
// when it is more than chance and the machine make, see smaller.
func Judge(breaker, other Figures) Verdict {
	var v Verdict
	var felt, costs [2]int // ahead, behind
	for _, column := range Columns() {
		sign := standing(column, breaker, other)
		if sign == 0 {
			continue
		}
		sum := &costs
		if column.felt() {
			sum = &felt
		}
		if sign > 0 {
			v.Ahead = append(v.Ahead, column)
			sum[0]++
		} else {
			v.Behind = append(v.Behind, column)
			sum[1]++
		}
	}
	v.Word = word(felt)
	if v.Word == Equal {
		v.Word = word(costs)
	}
	return v
}

func word(columns [2]int) Word {
	switch ahead, behind := columns[0] > 0, columns[1] > 0; {
	case ahead && behind:
		return Mixed
	case ahead:
		return Ahead
	case behind:
		return Behind
	default:
		return Equal
	}
}

// standing is 1 where the breaker's figure is better than the other's, -1 where it is worse,
// 0 where they are equal or there is none.
func standing(column Column, breaker, other Figures) int {
	const enoughTime = float64(300 * time.Millisecond) // chance decides when a request comes
	switch column {
	case ColumnLanded:
		return smaller(breaker.landedShare(), other.landedShare(), 0.015)
	case ColumnUntilNone:
		return earlier(breaker.UntilNone, other.UntilNone, enoughTime)
	case ColumnP50:
		return earlier(breaker.P50, other.P50, float64(50*time.Millisecond))
	case ColumnP99:
		return earlier(breaker.P99, other.P99, enoughTime)
	case ColumnFailed:
		return smaller(float64(breaker.Failed), float64(other.Failed), 5)
	case ColumnFullShare:
		// Where in a block the healing falls is chance.
		return earlier(breaker.FullShare, other.FullShare, float64(blockTTL))
	case ColumnKept:
		return smaller(float64(breaker.AllKept()), float64(other.AllKept()), float64(keptPerBlock))
	}
	return 0
}

// keptPerBlock is how many requests an endpoint misses during one block.
const keptPerBlock = int(rate * blockTTL / time.Second / endpointCount)

// smaller compares two figures of which the smaller one is better. They differ by at least
// the floor and a tenth of the larger one, or they are equal.
func smaller(breaker, other, floor float64) int {
	difference := other - breaker
	if math.Abs(difference) < max(floor, max(breaker, other)/10) {
		return 0
	}
	if difference > 0 {
		return 1
	}
	return -1
}

// earlier is smaller for times; what never comes is later than all that does.
func earlier(breaker, other Wait, floor float64) int {
	switch {
	case breaker.None || other.None || breaker.Never && other.Never:
		return 0
	case other.Never:
		return 1
	case breaker.Never:
		return -1
	default:
		return smaller(float64(breaker.After), float64(other.After), floor)
	}
}
