package redisq

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Wake implements [storage.Consumer].
func (s *Store) Wake(ctx context.Context, queue string) error {
	b, err := s.base(queue)
	if err != nil {
		return err
	}
	return s.send(ctx, redis.NewIntCmd(ctx, "zadd", b+"marker", "0", "0"))
}

// EventKept implements [storage.EventLog].
func (s *Store) EventKept(ctx context.Context, queue, cursor string) (bool, error) {
	if cursor == "" || cursor == noEvents {
		return true, nil
	}
	b, err := s.base(queue)
	if err != nil {
		return false, err
	}
	cmd := redis.NewXMessageSliceCmd(ctx, "xrange", b+"events", cursor, cursor)
	if err := s.read(ctx, cmd); err != nil {
		return false, err
	}
	return len(cmd.Val()) > 0, nil
}

// noEvents is the place before all events of a stream.
const noEvents = "0-0"

// Qualify implements [storage.Producer].
func (s *Store) Qualify(queue string) string { return s.prefix + ":" + queue }
