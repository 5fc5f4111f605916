package redisq

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// held is the count of a limiter that lets no job start, whatever its maximum.
const held = "9007199254740991"

// resumeStep is how many jobs at most change their list in one step of Resume.
const resumeStep = 7000

// Pause implements [storage.Operator].
func (s *Store) Pause(ctx context.Context, queue string) error {
	_, err := s.runInt(ctx, "pause", queue)
	return err
}

// Resume implements [storage.Operator].
func (s *Store) Resume(ctx context.Context, queue string) error {
	left, err := s.resumePart(ctx, queue, true, resumeStep)
	for err == nil && left > 0 {
		left, err = s.resumePart(ctx, queue, false, resumeStep)
	}
	return err
}

// resumePart takes back at most some of the jobs that were set aside, and
// returns how many are left.
func (s *Store) resumePart(ctx context.Context, queue string, first bool, most int) (left int64, err error) {
	return s.runInt(ctx, "resume", queue, flag(first), most)
}

// SetGlobalConcurrency implements [storage.Operator].
func (s *Store) SetGlobalConcurrency(ctx context.Context, queue string, n int) error {
	if err := s.check("set global concurrency", queue).notNegative("concurrency", n, "no limit").err(); err != nil {
		return err
	}
	if n == 0 {
		return s.changeLimit(ctx, queue, "clear", "concurrency")
	}
	return s.changeLimit(ctx, queue, "set", "concurrency", n)
}

// SetGlobalRateLimit implements [storage.Operator].
func (s *Store) SetGlobalRateLimit(ctx context.Context, queue string, limit *storage.RateLimit) error {
	if limit == nil {
		return s.changeLimit(ctx, queue, "clear", "max", "duration")
	}
	in := s.check("set global rate limit", queue).
		that(limit.Max > 0, "the maximum is %d: give 1 or more, or a nil limit for none", limit.Max).
		that(limit.Per > 0, "the time is %v: give a millisecond or more", limit.Per)
	if err := in.err(); err != nil {
		return err
	}
	return s.changeLimit(ctx, queue, "set", "max", limit.Max, "duration", millis(limit.Per))
}

// RateLimit implements [storage.Operator].
func (s *Store) RateLimit(ctx context.Context, queue string, d time.Duration) error {
	in := s.check("rate limit", queue).that(d >= 0, "the time is %v: give 0 to end it, or more", d)
	if err := in.err(); err != nil {
		return err
	}
	if d == 0 {
		return s.changeLimit(ctx, queue, "release")
	}
	b, err := s.base(queue)
	if err != nil {
		return err
	}
	return s.send(ctx, redis.NewStatusCmd(ctx, "set", b+"limiter", held, "px", millis(d)))
}

// changeLimit changes limits. Workers that had nothing to take because of one
// are woken: peers leave them waiting until they look again by themselves.
func (s *Store) changeLimit(ctx context.Context, queue string, args ...any) error {
	_, err := s.runInt(ctx, "setratelimit", queue, args...)
	return err
}

// RemoveDedupKey implements [storage.Operator].
func (s *Store) RemoveDedupKey(ctx context.Context, queue, dedupID, owner string) (bool, error) {
	if err := s.check("remove deduplication key", queue).that(dedupID != "", "the deduplication id is empty").err(); err != nil {
		return false, err
	}
	if owner != "" {
		n, err := s.runInt(ctx, "removededup", queue, dedupID, owner)
		return n == 1, err
	}
	b, err := s.base(queue)
	if err != nil {
		return false, err
	}
	cmd := redis.NewIntCmd(ctx, "del", b+"de:"+dedupID)
	err = s.send(ctx, cmd)
	return cmd.Val() == 1, err
}

// flag is how scripts are told yes and no.
func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// millis is a time in whole milliseconds; a part of one counts as one, so that
// a short time never becomes none.
func millis(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d > 0 && d%time.Millisecond != 0 {
		ms++
	}
	return ms
}
