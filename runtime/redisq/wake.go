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

// Qualify implements [storage.Producer].
func (s *Store) Qualify(queue string) string { return s.prefix + ":" + queue }
