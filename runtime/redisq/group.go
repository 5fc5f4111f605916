package redisq

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Admit implements [storage.Consumer].
func (s *Store) Admit(ctx context.Context, queue string, now time.Time, limit storage.RateLimit, jobs []storage.Grouped) ([]time.Duration, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	if limit.Max < 1 || limit.Per < time.Millisecond {
		return nil, storage.Invalid("bullmq: a group's rate limit needs a maximum above 0 and a time of at least 1ms, not %d in %v", limit.Max, limit.Per)
	}
	args := make([]any, 0, 3+2*len(jobs))
	args = append(args, now.UnixMilli(), limit.Max, limit.Per.Milliseconds())
	for i := range jobs {
		args = append(args, &jobs[i].ID, &jobs[i].Group)
	}
	reply, err := s.run(ctx, "admit", queue, args...)
	if err != nil {
		return nil, err
	}
	waits := make([]time.Duration, len(reply))
	for i, text := range reply {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, unreadable(fmt.Errorf("bullmq: admit jobs on queue %q: %w", queue, err))
		}
		waits[i] = time.Duration(ms) * time.Millisecond
	}
	return waits, nil
}
