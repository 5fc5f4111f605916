package outage

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is the growing wait between attempts to reach a storage that is away.
// The zero value is ready.
type Backoff struct {
	tries int
	last  string // the reason that was reported last
}

// Tries returns how many attempts have failed in a row.
func (b *Backoff) Tries() int { return b.tries }

// Wait waits before the next attempt: 50 ms, doubled up to 3 s. A random half is
// left out so that workers do not all come back at once.
func (b *Backoff) Wait(ctx context.Context) {
	t := time.NewTimer(b.Next())
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Next returns how long to wait before the next attempt, which it counts.
func (b *Backoff) Next() time.Duration {
	d := min(50*time.Millisecond<<min(b.tries, 6), 3*time.Second)
	b.tries++
	return d/2 + rand.N(d/2) //nolint:gosec // no secret
}

// IsNews reports whether an error has another reason than the one before it
// since the storage last answered.
func (b *Backoff) IsNews(err error) bool {
	reason := reasonOf(err)
	if b.last == reason {
		return false
	}
	b.last = reason
	return true
}

// Reset records that the storage answered. It reports whether attempts had
// failed before.
func (b *Backoff) Reset() bool {
	failed := b.tries > 0
	b.tries, b.last = 0, ""
	return failed
}
