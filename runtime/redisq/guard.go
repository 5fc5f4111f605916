package redisq

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// guarded makes an error of a panic: go-redis panics over some answers that are
// not of the kind that a command expects, such as a number for a list.
func guarded(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the answer cannot be read: %v", p)
		}
	}()
	return call()
}

// process sends one command.
func (s *Store) process(ctx context.Context, cmd redis.Cmder) error {
	return guarded(func() error { return s.client.Process(ctx, cmd) })
}

// exec sends the commands of a pipeline.
func exec(ctx context.Context, pipe redis.Pipeliner) (cmds []redis.Cmder, err error) {
	err = guarded(func() error {
		cmds, err = pipe.Exec(ctx)
		return err
	})
	return cmds, err
}
