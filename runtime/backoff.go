package bullmq

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// BackoffStrategy computes the wait before the next attempt. Attempt is the
// number of attempts made so far, 1 after the first. A negative result fails
// the job for good; zero retries at once.
type BackoffStrategy func(attempt int, job *ActiveJob, err error) time.Duration

// wait is how long to wait after the given number of attempts by one of the
// two built-in types; random is from 0 up to 1.
func (b *Backoff) wait(attempt int, random float64) time.Duration {
	ms := float64(b.Delay.Milliseconds())
	if b.Type == "exponential" {
		ms = math.Round(math.Pow(2, float64(attempt-1)) * ms)
		if b.Max > 0 {
			ms = min(ms, float64(b.Max.Milliseconds()))
		}
	}
	if b.Jitter > 0 {
		ms = math.Floor(random*ms*b.Jitter + ms*(1-b.Jitter))
	}
	return min(millisDuration(ms), maxDelay)
}

// retryDelay is the wait before the next attempt by a type that is built in.
func (w *Worker) retryDelay(b *Backoff, attempt int) (time.Duration, error) {
	switch b.Type {
	case "":
		return 0, nil
	case "fixed", "exponential":
		return b.wait(attempt, w.random()), nil
	}
	return 0, fmt.Errorf("unknown backoff strategy %q: register it on the worker with WithBackoff", b.Type)
}

// reconnect is the growing wait between tries to reach a storage that is away.
type reconnect struct {
	tries int
	told  string // the reason that was told last
}

func newBackoff() *reconnect { return &reconnect{} }

// wait waits before the next try: 50 ms, doubled up to 3 s, of which a random
// half is left out so that workers do not all come back at once.
func (r *reconnect) wait(ctx context.Context) {
	t := time.NewTimer(r.next())
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// next is how long to wait before the next try.
func (r *reconnect) next() time.Duration {
	d := min(50*time.Millisecond<<min(r.tries, 6), 3*time.Second)
	r.tries++
	return d/2 + rand.N(d/2) //nolint:gosec // no secret
}

// tells reports whether an error is to be told: each reason is, once until the
// storage answers.
func (r *reconnect) tells(err error) bool {
	reason := reasonOf(err)
	if r.told == reason {
		return false
	}
	r.told = reason
	return true
}

// reset says that the storage answered; true: after failed tries.
func (r *reconnect) reset() bool {
	failed := r.tries > 0
	r.tries, r.told = 0, ""
	return failed
}
