package redisq

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// cancelKey is a stream of ids of jobs to be cancelled. Peers ignore it.
	cancelKey = "gen:cancel"
	// cancelKept is how many ids are kept for workers that are away, about, and
	// cancelTime how long.
	cancelKept = 1000
	cancelTime = 10 * time.Minute
)

// Cancel implements [storage.Canceller].
func (s *Store) Cancel(ctx context.Context, queue, id string) error {
	if err := s.check("cancel", queue).id(id).err(); err != nil {
		return err
	}
	b, err := s.base(queue)
	if err != nil {
		return err
	}
	key := b + cancelKey
	// Asked twice is as good as once: both may be sent again.
	return s.read(ctx,
		redis.NewStringCmd(ctx, "xadd", key, "maxlen", "~", cancelKept, "*", "id", id),
		redis.NewBoolCmd(ctx, "pexpire", key, cancelTime.Milliseconds()))
}

// Cancelled implements [storage.Canceller].
func (s *Store) Cancelled(ctx context.Context, queue, cursor string, d time.Duration) ([]string, string, error) {
	b, err := s.base(queue)
	if err != nil {
		return nil, "", err
	}
	key := b + cancelKey
	if cursor == "" {
		last := redis.NewXMessageSliceCmd(ctx, "xrevrange", key, "+", "-", "count", "1")
		if err := s.read(ctx, last); err != nil {
			return nil, "", err
		}
		if len(last.Val()) == 0 {
			return nil, beginning, nil
		}
		return nil, last.Val()[0].ID, nil
	}
	block := max(min(d, maxBlock), time.Millisecond)
	cmd := redis.NewXStreamSliceCmd(ctx, "xread", "block", block.Milliseconds(), "streams", key, cursor)
	if err := s.readers.process(ctx, s, queue, cmd, block); err != nil {
		return nil, "", err
	}
	var ids []string
	for _, stream := range cmd.Val() {
		for _, m := range stream.Messages {
			cursor = m.ID
			if id, ok := m.Values["id"].(string); ok {
				ids = append(ids, id)
			}
		}
	}
	return ids, cursor, nil
}
