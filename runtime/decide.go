package bullmq

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
	"github.com/bullmq-gen/bullmq-gen/internal/jsjson"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// ending is what there is to know when a handler has ended, to decide what
// becomes of its job.
type ending struct {
	job    *ActiveJob
	value  []byte // its result, JSON text
	err    error
	cause  error // why its context ended, or nil
	now    time.Time
	starts int // how many starts the worker allows; 0: any number

	setBack time.Duration // how long a job waits that the storage did not serve

	keepCompleted, keepFailed *Retention                                     // for jobs that do not say
	delay                     func(*ActiveJob, error) (time.Duration, error) // before the next attempt
}

// decide tells what becomes of a job. It is the one place where that is decided.
func decide(e *ending) storage.Settlement {
	s := storage.Settlement{ID: e.job.ID, Token: e.job.token}
	if e.err == nil {
		s.Kind, s.Value = storage.Completed, e.value
		s.Keep = retention(e.job.Options.KeepCompleted, e.keepCompleted)
		return s
	}
	var m *moved
	if errors.As(e.err, &m) {
		s.Kind, s.Delay, s.Child = m.kind, m.delay, m.child
		if !m.until.IsZero() {
			s.Delay = max(0, m.until.Sub(e.now))
		}
		return s
	}
	if e.back(&s) {
		return s
	}
	e.describe(&s)
	delay, again := e.retry(&s)
	switch {
	case !again:
		s.Kind, s.Attempts = storage.Failed, e.job.Options.Attempts
		s.Keep = retention(e.job.Options.KeepFailed, e.keepFailed)
	case delay > 0:
		s.Kind, s.Delay = storage.RetryLater, delay
	default:
		s.Kind, s.LIFO = storage.RetryNow, e.job.Options.LIFO
	}
	return s
}

// back tells whether a job goes back without an attempt being counted, since what
// its handler returned is not what the handler did: the worker shut down and ended
// its context, or the storage did not answer. What an error says after a shutdown
// does not matter: clients and drivers wrap the end of a context, or hide it. An
// error that is marked as unrecoverable and a panic count all the same, and so does
// any error of a job that was cancelled by its id.
func (e *ending) back(s *storage.Settlement) bool {
	var set *setBack
	var left *guard.Panic
	ours := errors.As(e.err, &set)
	switch {
	case IsUnrecoverable(e.err), errors.As(e.err, &left), errors.Is(e.cause, ErrCancelled),
		!ours && !errors.Is(e.cause, ErrShutdown):
		return false
	}
	s.Unstarted = ours && set.unstarted
	switch {
	case errors.Is(e.cause, ErrShutdown), s.Unstarted && e.starts > 0: // the start must not count
		s.Kind = storage.BackToWait
	default:
		s.Kind, s.Delay, s.Unstarted = storage.DelayedUntil, e.setBack, false
	}
	return true
}

// retry tells whether there is another attempt, and after how long.
func (e *ending) retry(s *storage.Settlement) (time.Duration, bool) {
	j := e.job
	if j.record.AttemptsMade+1 >= j.Options.Attempts || IsUnrecoverable(e.err) || errors.Is(e.cause, ErrCancelled) {
		return 0, false
	}
	if e.starts > 0 && e.starts <= j.record.AttemptsStarted {
		return 0, false
	}
	delay, err := e.delay(j, e.err)
	if err != nil {
		s.Reason += " (not retried: " + err.Error() + ")"
		return 0, false
	}
	return delay, delay >= 0
}

// describe sets the reason and the stacks of a failed attempt.
func (e *ending) describe(s *storage.Settlement) {
	reason := e.err.Error()
	if e.cause != nil && (errors.Is(e.err, context.Canceled) || errors.Is(e.err, context.DeadlineExceeded)) {
		reason = e.cause.Error()
	}
	s.Reason = strings.ToValidUTF8(reason, "\ufffd")
	stack := stackOf(e.err)
	if stack == "" {
		stack = s.Reason
	}
	s.Stack = appendStack(e.job.record.Stack, strings.ToValidUTF8(stack, "\ufffd"), e.job.Options.StackTraceLimit)
}

// stackOf is the stack of a panic that became an error, or empty.
func stackOf(err error) string {
	var m *jsjson.PanicError
	if errors.As(err, &m) {
		return err.Error() + "\n" + m.Stack()
	}
	return guard.StackOf(err)
}

// appendStack adds a stack to those of earlier attempts, oldest first, and
// keeps the last limit of them.
func appendStack(before []byte, stack string, limit *int) []byte {
	var all []string
	if json.Unmarshal(before, &all) != nil {
		all = nil // a peer wrote something else: peers read that as none
	}
	all = append(all, stack)
	if limit != nil && len(all) > *limit {
		all = all[len(all)-max(0, *limit):] // a peer may have stored a negative one
	}
	b := []byte{'['}
	for i, s := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsjson.AppendString(b, s)
	}
	return append(b, ']')
}

// retention is what the job says, else the worker, else everything is kept.
func retention(job, worker *Retention) storage.Keep {
	if job == nil {
		return worker.stored()
	}
	return job.stored()
}
