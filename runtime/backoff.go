package bullmq

import (
	"fmt"
	"math"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
	"github.com/bullmq-gen/bullmq-gen/internal/wire"
)

// BackoffStrategy computes the wait before the next attempt. Attempt is the
// number of attempts made so far, 1 after the first. A negative result fails
// the job permanently; zero retries at once.
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
	return min(millisDuration(ms), wire.MaxDuration)
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

// backoffOf returns the wait before the next attempt of a job, by its backoff,
// which may be a function of the program's.
func (w *Worker) backoffOf(j *ActiveJob, err error) (time.Duration, error) {
	b := &j.Options.Backoff
	strategy := w.cfg.strategies[b.Type]
	if strategy == nil {
		return w.retryDelay(b, j.Attempt)
	}
	var d time.Duration
	problem := guard.Apart(fmt.Sprintf("backoff strategy %q", b.Type), func() error { d = strategy(j.Attempt, j, err); return nil })
	return d, problem
}
