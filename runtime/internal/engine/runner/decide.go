package runner

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
	job       *Job
	value     []byte // its result, JSON text
	err       error
	cause     error // why its context ended, or nil
	now       time.Time
	maxStarts int                                      // how many starts the worker allows; 0: any number
	setBack   time.Duration                            // how long a job waits that the storage did not serve
	delay     func(*Job, error) (time.Duration, error) // before the next attempt
}

// decide returns what becomes of a job. It is the one place where that is decided.
func decide(e *ending) storage.Settlement {
	s := storage.Settlement{ID: e.job.Record.ID, Token: e.job.Token}
	if e.err == nil {
		s.Kind, s.Value, s.Keep = storage.Completed, e.value, e.job.Policy.KeepCompleted
		return s
	}
	var d *Deferral
	if errors.As(e.err, &d) {
		s.Kind, s.Delay, s.Child = d.Kind, d.Delay, d.Child
		if !d.Until.IsZero() {
			s.Delay = max(0, d.Until.Sub(e.now))
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
		s.Kind, s.Attempts, s.Keep = storage.Failed, e.job.Policy.Attempts, e.job.Policy.KeepFailed
	case delay > 0:
		s.Kind, s.Delay = storage.RetryLater, delay
	default:
		s.Kind, s.LIFO = storage.RetryNow, e.job.Policy.LIFO
	}
	return s
}

// back reports whether a job goes back without an attempt being counted, since what
// its handler returned is not what the handler did: the worker shut down and ended
// its context, or the storage did not answer. What an error says after a shutdown
// does not matter: clients and drivers wrap the end of a context, or hide it. An
// error that is marked as unrecoverable and a panic count all the same, and so does
// any error of a job that was cancelled by its id.
func (e *ending) back(s *storage.Settlement) bool {
	var set *SetBack
	var left *guard.Panic
	ours := errors.As(e.err, &set)
	switch {
	case IsUnrecoverable(e.err), errors.As(e.err, &left), errors.Is(e.cause, ErrCancelled),
		!ours && !errors.Is(e.cause, ErrShutdown):
		return false
	}
	s.Unstarted = ours && set.Unstarted
	switch {
	case errors.Is(e.cause, ErrShutdown), s.Unstarted && e.maxStarts > 0: // the start must not count
		s.Kind = storage.BackToWait
	default:
		s.Kind, s.Delay, s.Unstarted = storage.DelayedUntil, e.setBack, false
	}
	return true
}

// retry reports whether there is another attempt, and after how long.
func (e *ending) retry(s *storage.Settlement) (time.Duration, bool) {
	record := e.job.Record
	if record.AttemptsMade+1 >= e.job.Policy.Attempts || IsUnrecoverable(e.err) || errors.Is(e.cause, ErrCancelled) {
		return 0, false
	}
	if e.maxStarts > 0 && e.maxStarts <= record.AttemptsStarted {
		return 0, false
	}
	delay, err := e.delay(e.job, e.err)
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
	s.Stack = appendStack(e.job.Record.Stack, strings.ToValidUTF8(stack, "\ufffd"), e.job.Policy.StackTraceLimit)
}

// stackOf returns the stack of a panic that became an error, or an empty text.
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
