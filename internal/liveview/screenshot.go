package liveview

import (
	"context"
	"io"
	"time"

	"endpoint-breaker/internal/demo"
)

// The size of a screenshot, in cells.
const (
	screenshotWidth  = 100
	screenshotHeight = minHeight
)

// Screenshot writes the view as an SVG as it stands when half of the time from the block to
// the heal is over; at the story's end when there is no block.
func Screenshot(w io.Writer) demo.Audience {
	return func(ctx context.Context, board *demo.Board) error {
		ticker := time.NewTicker(refresh)
		defer ticker.Stop()
		for state := board.State(); ; state = board.State() {
			if ctx.Err() != nil || worthAPicture(state) {
				picture := screenOf(state, screenshotWidth, screenshotHeight).svg(screenshotWidth, screenshotHeight)
				_, err := io.WriteString(w, picture)
				return err
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
			}
		}
	}
}

func worthAPicture(s demo.State) bool {
	block, blocked := s.Event(demo.EventBlock)
	return blocked && s.At >= block.At+s.Setting.Plan.HealAfter/2
}
