package redisq

import (
	"context"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Retry implements [storage.Operator].
func (s *Store) Retry(ctx context.Context, queue, id string, req storage.RetryRequest) error {
	if err := s.check("retry", queue).id(id).finished(req.State).err(); err != nil {
		return err
	}
	return s.runJob(ctx, "retry", "retry", queue, id, string(req.State), flag(req.ResetMade), flag(req.ResetStarted))
}

// Promote implements [storage.Operator].
func (s *Store) Promote(ctx context.Context, queue, id string) error {
	if err := s.check("promote", queue).id(id).err(); err != nil {
		return err
	}
	return s.runJob(ctx, "promote", "promote", queue, id)
}

// ChangeDelay implements [storage.Operator].
func (s *Store) ChangeDelay(ctx context.Context, queue, id string, now time.Time, d time.Duration) error {
	in := s.check("change delay", queue).id(id).time("now", now).
		that(d >= 0, "the delay is %v: give 0 for at once, or more", d)
	if err := in.err(); err != nil {
		return err
	}
	return s.runJob(ctx, "change delay", "changedelay", queue, id, millis(d), now.UnixMilli())
}

// ChangePriority implements [storage.Operator].
func (s *Store) ChangePriority(ctx context.Context, queue, id string, priority int, lifo bool) error {
	if err := s.check("change priority", queue).id(id).priority(priority).err(); err != nil {
		return err
	}
	return s.runJob(ctx, "change priority", "changepriority", queue, id, priority, flag(lifo))
}

// UpdateData implements [storage.Operator].
func (s *Store) UpdateData(ctx context.Context, queue, id string, data []byte) error {
	if err := s.check("update data", queue).id(id).json("data", data).err(); err != nil {
		return err
	}
	return s.runJob(ctx, "update data", "updatedata", queue, id, data)
}

// UpdateProgress implements [storage.Operator].
func (s *Store) UpdateProgress(ctx context.Context, queue, id string, progress []byte) error {
	if err := s.check("update progress", queue).id(id).json("progress", progress).err(); err != nil {
		return err
	}
	return s.runJob(ctx, "update progress", "updateprogress", queue, id, progress)
}

// AddLog implements [storage.Operator].
func (s *Store) AddLog(ctx context.Context, queue, id, line string, keep int) (int, error) {
	if err := s.check("add log", queue).id(id).notNegative("number of lines to keep", keep, "all").err(); err != nil {
		return 0, err
	}
	n, err := s.runJobInt(ctx, "add log", "addlog", queue, id, line, keep)
	return int(n), err
}

// ClearLogs implements [storage.Operator].
func (s *Store) ClearLogs(ctx context.Context, queue, id string, keep int) error {
	if err := s.check("clear logs", queue).id(id).notNegative("number of lines to keep", keep, "none").err(); err != nil {
		return err
	}
	return s.runJob(ctx, "clear logs", "clearlogs", queue, id, keep)
}

// runJob runs a script about one job.
func (s *Store) runJob(ctx context.Context, op, script, queue, id string, args ...any) error {
	_, err := s.runJobInt(ctx, op, script, queue, id, args...)
	return err
}

// runJobInt runs a script about one job, whose reply is a number, or a code
// below zero when it is refused.
func (s *Store) runJobInt(ctx context.Context, op, script, queue, id string, args ...any) (int64, error) {
	n, err := s.runInt(ctx, script, queue, append([]any{id}, args...)...)
	if err != nil {
		return 0, err
	}
	if n < 0 {
		return 0, refused(op, queue, id, codeError(n))
	}
	return n, nil
}

// finished checks a state that must be one of the two in which jobs end.
func (in *input) finished(state storage.State) *input {
	return in.that(state == storage.StateFailed || state == storage.StateCompleted,
		"the state is %q: give %q or %q", state, storage.StateFailed, storage.StateCompleted)
}
