package redisq

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

const (
	// bulkStep is how many jobs one step removes or looks at: a server does
	// nothing else for that time, some 10 milliseconds.
	bulkStep = 1000
	// defaultCount is how many jobs one step moves when the caller does not say.
	defaultCount = 1000
	// maxCount is the most that it can say: there is no Redis with as many.
	maxCount = 1 << 30
)

// stateKey is where the jobs of a state stand: a list or a sorted set, and the
// end of its key's name.
type stateKey struct{ kind, name string }

var stateKeys = map[storage.State]stateKey{
	storage.StateWaiting:         {"list", "wait"},
	storage.StatePaused:          {"list", "paused"},
	storage.StateActive:          {"list", "active"},
	storage.StateDelayed:         {"set", "delayed"},
	storage.StatePrioritized:     {"set", "prioritized"},
	storage.StateWaitingChildren: {"set", "waiting-children"},
	storage.StateCompleted:       {"set", "completed"},
	storage.StateFailed:          {"set", "failed"},
}

// Drain implements [storage.Operator].
func (s *Store) Drain(ctx context.Context, queue string, delayed bool) error {
	for {
		more, err := s.runInt(ctx, "drain", queue, flag(delayed), bulkStep, s.nowMillis())
		if err != nil || more == 0 {
			return err
		}
	}
}

// Clean implements [storage.Operator]. When a step fails, the ids are those
// that the steps before it removed.
func (s *Store) Clean(ctx context.Context, queue string, state storage.State, before time.Time, limit int) ([]string, error) {
	at, ok := stateKeys[state]
	in := s.check("clean", queue).
		that(ok && state != storage.StateWaitingChildren, "jobs of state %q cannot be cleaned", state).
		time("before", before).
		notNegative("limit", limit, "all")
	if err := in.err(); err != nil {
		return nil, err
	}
	if limit == 0 {
		limit = math.MaxInt32
	}
	names := []string{at.name}
	if state == storage.StateWaiting {
		// Jobs that a 5.x peer set aside wait longer than the others, and are looked at first.
		aside, err := s.setAside(ctx, queue)
		if err != nil {
			return nil, err
		}
		if aside {
			names = []string{"paused", "wait"}
		}
	}
	var ids []string
	for _, name := range names {
		gone, err := s.cleanKey(ctx, queue, name, before, limit-len(ids))
		ids = append(ids, gone...)
		if err != nil || len(ids) >= limit {
			return ids, err
		}
	}
	return ids, nil
}

func (s *Store) setAside(ctx context.Context, queue string) (bool, error) {
	b, err := s.base(queue)
	if err != nil {
		return false, err
	}
	cmd := redis.NewIntCmd(ctx, "exists", b+"paused")
	err = s.read(ctx, cmd)
	return cmd.Val() == 1, err
}

// cleanKey cleans one list or set, in steps.
func (s *Store) cleanKey(ctx context.Context, queue, name string, before time.Time, limit int) ([]string, error) {
	var ids []string
	passed := 0 // entries that were looked at and stay
	for {
		room := limit - len(ids)
		window := bulkStep
		if name == "completed" || name == "failed" {
			window = min(window, room) // whatever is looked at goes
		}
		gone, stay, more, err := s.cleanStep(ctx, queue, name, before, room, window, passed)
		if err != nil {
			return ids, err
		}
		ids = append(ids, gone...)
		if !more || len(ids) >= limit {
			return ids, nil
		}
		passed += stay
	}
}

// cleanStep looks at window entries (0: all) of a list or set beyond those
// passed, and removes at most room of them.
func (s *Store) cleanStep(ctx context.Context, queue, name string, before time.Time, room, window, passed int) (gone []string, stay int, more bool, err error) {
	reply, err := s.run(ctx, "clean", queue, name, before.UnixMilli(), room, window, passed, s.nowMillis())
	if err != nil {
		return nil, 0, false, err
	}
	if len(reply) < 2 {
		return nil, 0, false, unreadable(fmt.Errorf("bullmq: clean on queue %q: the script answered %d values", queue, len(reply)))
	}
	return reply[2:], max(0, parseInt(reply[0])), reply[1] == "1", nil
}

// RetryAll implements [storage.Operator].
func (s *Store) RetryAll(ctx context.Context, queue string, state storage.State, by time.Time, count int) error {
	in := s.check("retry all", queue).finished(state).time("by", by).
		notNegative("count", count, strconv.Itoa(defaultCount))
	if err := in.err(); err != nil {
		return err
	}
	return s.moveAll(ctx, queue, state, strconv.FormatInt(by.UnixMilli(), 10), count)
}

// PromoteAll implements [storage.Operator].
func (s *Store) PromoteAll(ctx context.Context, queue string, count int) error {
	in := s.check("promote all", queue).notNegative("count", count, strconv.Itoa(defaultCount))
	if err := in.err(); err != nil {
		return err
	}
	return s.moveAll(ctx, queue, storage.StateDelayed, "+inf", count)
}

// moveAll makes all jobs of a state up to a score wait, in steps of count.
func (s *Store) moveAll(ctx context.Context, queue string, state storage.State, upTo string, count int) error {
	count = stepCount(count)
	for {
		n, err := s.moveStep(ctx, queue, state, upTo, count)
		if err != nil || n < int64(count) {
			return err
		}
	}
}

// stepCount is how many jobs one step moves when the caller says count.
func stepCount(count int) int {
	if count == 0 {
		return defaultCount
	}
	return min(count, maxCount)
}

func (s *Store) moveStep(ctx context.Context, queue string, state storage.State, upTo string, count int) (int64, error) {
	return s.runInt(ctx, "retryall", queue, string(state), count, upTo)
}
