package redisq

import (
	"context"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Renew implements [storage.Consumer].
func (s *Store) Renew(ctx context.Context, queue string, locks []storage.Lock, d time.Duration) ([]string, error) {
	if len(locks) == 0 {
		return nil, nil
	}
	if d < time.Millisecond {
		return nil, storage.Invalid("bullmq: locks cannot be renewed for %v: give at least a millisecond", d)
	}
	args := make([]any, 0, 1+2*len(locks))
	args = append(args, d.Milliseconds())
	for i := range locks {
		args = append(args, &locks[i].ID, &locks[i].Token)
	}
	return s.run(ctx, "renew", queue, args...)
}

// KeepStep implements [storage.Consumer].
func (s *Store) KeepStep(ctx context.Context, queue string, lock storage.Lock, name string, value []byte) error {
	in := s.check("keep a step", queue).id(lock.ID).that(lock.Token != "", "the lock's token is empty").
		that(name != "", "the step's name is empty").json("step's result", value)
	if err := in.err(); err != nil {
		return err
	}
	return s.runJob(ctx, "keep a step", "keepstep", queue, lock.ID, &lock.Token, &name, value)
}
