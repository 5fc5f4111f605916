package redisq

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Announce writes version to the queue's settings if no library is named there
// yet, and maxEvents if it is zero or more.
func (s *Store) Announce(ctx context.Context, queue, version string, maxEvents int) error {
	b, err := s.base(queue)
	if err != nil {
		return err
	}
	cmds := []redis.Cmder{redis.NewIntCmd(ctx, "hsetnx", b+"meta", "version", version)}
	if maxEvents >= 0 {
		cmds = append(cmds, redis.NewIntCmd(ctx, "hset", b+"meta", "opts.maxLenEvents", strconv.Itoa(maxEvents)))
	}
	return s.read(ctx, cmds...) // to write them a second time changes nothing
}
