package redisq

import (
	"context"
	"fmt"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Renew implements [storage.Consumer].
func (s *Store) Renew(ctx context.Context, queue string, locks []storage.Lock, d time.Duration) ([]string, error) {
	if len(locks) == 0 {
		return nil, nil
	}
	if d < time.Millisecond {
		return nil, fmt.Errorf("bullmq: locks cannot be renewed for %v: give at least a millisecond", d)
	}
	args := make([]any, 0, 1+2*len(locks))
	args = append(args, d.Milliseconds())
	for i := range locks {
		args = append(args, &locks[i].ID, &locks[i].Token)
	}
	return s.run(ctx, "renew", queue, args...)
}
