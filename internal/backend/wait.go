package backend

import (
	"context"
	"time"
)

// Wait returns nil when it is over, or the context's error when that ends first.
type Wait func(context.Context) error

// For waits for a fixed time.
func For(d time.Duration) Wait {
	return func(ctx context.Context) error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Until waits until the channel is closed; a nil channel never is.
func Until(released <-chan struct{}) Wait {
	return func(ctx context.Context) error {
		select {
		case <-released:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
