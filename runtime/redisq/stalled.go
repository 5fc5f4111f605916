package redisq

import (
	"context"
	"fmt"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// RecoverStalled implements [storage.Consumer]. A job goes back to the front of
// the waiting ones, whatever its priority; one that stalled more often than
// req.MaxStalled carries [storage.Record.Deferred], for the next worker to fail it.
func (s *Store) RecoverStalled(ctx context.Context, queue string, req storage.StalledRequest) ([]string, error) {
	if req.Interval < time.Millisecond {
		return nil, storage.Invalid("bullmq: stalled jobs cannot be looked for every %v: give at least a millisecond", req.Interval)
	}
	var recovered []string
	for at := ""; ; {
		reply, err := s.run(ctx, "stalled", queue, req.Now.UnixMilli(), req.Interval.Milliseconds(), req.MaxStalled, at)
		if err != nil {
			return recovered, err
		}
		if len(reply) == 0 {
			return recovered, unreadable(fmt.Errorf("bullmq: recover stalled jobs of queue %q: the script answered nothing", queue))
		}
		recovered = append(recovered, reply[1:]...)
		if at = reply[0]; at == "" {
			return recovered, nil
		}
	}
}
