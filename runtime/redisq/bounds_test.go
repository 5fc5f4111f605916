package redisq

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// A server does nothing else while a script runs, so no operation on many jobs is
// one call: each call executes a bounded number of commands, and looks at a
// bounded number of jobs, however many there are.
func TestNoCallIsLongerBecauseThereAreManyJobs(t *testing.T) {
	t.Parallel()
	const jobs, most = 6000, 16 * 1000
	for name, op := range map[string]struct {
		before func(b *bench, ids []string)
		call   func(b *bench) error
	}{
		"drain": {func(b *bench, ids []string) { b.all("rpush", "wait", ids) }, func(b *bench) error { return b.Drain(b.ctx, "q", true) }},
		"drain delayed": {func(b *bench, ids []string) { b.all("zadd", "delayed", ids) }, func(b *bench) error {
			return b.Drain(b.ctx, "q", true)
		}},
		"clean waiting": {func(b *bench, ids []string) { b.all("rpush", "wait", ids) }, func(b *bench) error {
			return dropFirst(b.Clean(b.ctx, "q", storage.StateWaiting, sceneTime, 0))
		}},
		"clean failed": {func(b *bench, ids []string) { b.all("zadd", "failed", ids) }, func(b *bench) error {
			return dropFirst(b.Clean(b.ctx, "q", storage.StateFailed, sceneTime, 0))
		}},
		"clean delayed": {func(b *bench, ids []string) { b.all("zadd", "delayed", ids) }, func(b *bench) error {
			return dropFirst(b.Clean(b.ctx, "q", storage.StateDelayed, sceneTime, 0))
		}},
		"retry": {func(b *bench, ids []string) { b.all("zadd", "failed", ids) }, func(b *bench) error {
			return b.RetryAll(b.ctx, "q", storage.StateFailed, sceneTime, 0)
		}},
		"promote":    {func(b *bench, ids []string) { b.all("zadd", "delayed", ids) }, func(b *bench) error { return b.PromoteAll(b.ctx, "q", 0) }},
		"due":        {func(b *bench, ids []string) { b.all("zadd", "delayed", ids) }, func(b *bench) error { return dropFirst(b.Settle(b.ctx, "q", settleAt(1))) }},
		"orphans":    {func(*bench, []string) {}, func(b *bench) error { return dropFirst(b.RemoveOrphans(b.ctx, "q", 0, 0)) }},
		"ghosts":     {func(b *bench, ids []string) { b.all("zadd", "failed", prefixed("gone", ids)) }, func(b *bench) error { return dropFirst(b.RemoveOrphans(b.ctx, "q", 0, 0)) }},
		"obliterate": {pausedWith, func(b *bench) error { return b.Obliterate(b.ctx, "q", false, 0) }},
		"stalled": {func(b *bench, ids []string) { b.all("rpush", "active", ids); b.all("sadd", "stalled", ids) }, func(b *bench) error {
			return dropFirst(b.RecoverStalled(b.ctx, "q", storage.StalledRequest{Now: sceneTime, Interval: time.Hour, MaxStalled: 1}))
		}},
		"mark active": {func(b *bench, ids []string) { b.all("rpush", "active", ids) }, func(b *bench) error {
			return dropFirst(b.RecoverStalled(b.ctx, "q", storage.StalledRequest{Now: sceneTime, Interval: time.Hour, MaxStalled: 1}))
		}},
		"pending children": {func(b *bench, ids []string) {
			b.in("q", "waiting-children", "P", 1)
			b.all("rpush", "wait", ids)
			b.all("sadd", "P:dependencies", prefixed("bull:q:", ids))
		}, func(b *bench) error { return b.RemovePendingChildren(b.ctx, "q", "P") }},
		"retention by age": {func(b *bench, ids []string) { b.all("zadd", "completed", ids); b.take("x", "y", "z") }, func(b *bench) error {
			req := settleAt(0, completed("x"), completed("y"), completed("z"))
			for i := range req.Settle {
				req.Settle[i].Keep = storage.Keep{Age: time.Hour, Limit: jobs}
			}
			return dropFirst(b.Settle(b.ctx, "q", req))
		}},
		"retention by count": {func(b *bench, ids []string) { b.all("zadd", "completed", ids); b.take("x", "y", "z") }, func(b *bench) error {
			req := settleAt(0, completed("x"), completed("y"), completed("z"))
			for i := range req.Settle {
				req.Settle[i].Keep = storage.Keep{Count: 1}
			}
			return dropFirst(b.Settle(b.ctx, "q", req))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testredis.Start(t)
			c := srv.Client(t)
			s, err := New(c, Clock(func() time.Time { return sceneTime }))
			require.NoError(t, err)
			b := &bench{Store: s, t: t, c: c, ctx: t.Context()}
			op.before(b, b.many("q", "unused", jobs))
			b.do("del", "bull:q:unused")
			h := &commandCounter{count: srv.Client(t)}
			c.AddHook(h)
			require.NoError(t, op.call(b))
			require.NotZero(t, h.calls)
			require.LessOrEqual(t, h.longest, most, "commands of one call")
		})
	}
}

func pausedWith(b *bench, ids []string) {
	b.all("zadd", "completed", ids)
	require.NoError(b.t, b.Pause(b.ctx, "q"))
}

// all adds ids to a list, a set or, with scores from 1 on, a sorted set.
func (b *bench) all(verb, key string, ids []string) {
	b.t.Helper()
	args := []any{verb, b.key("q", key)}
	for i, id := range ids {
		if verb == "zadd" {
			args = append(args, i+1)
		}
		args = append(args, id)
	}
	b.do(args...)
}

func prefixed(prefix string, ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = prefix + id
	}
	return out
}

// commandCounter counts the commands that the server executes for each script.
type commandCounter struct {
	count          *redis.Client
	calls, longest int
}

func (h *commandCounter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *commandCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *commandCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !strings.HasPrefix(cmd.Name(), "eval") {
			return next(ctx, cmd)
		}
		before := h.executed(ctx)
		err := next(ctx, cmd)
		h.calls++
		h.longest = max(h.longest, h.executed(ctx)-before)
		return err
	}
}

// executed is how many commands the server has executed, those of scripts too.
func (h *commandCounter) executed(ctx context.Context) int {
	total := 0
	for line := range strings.Lines(h.count.Info(ctx, "commandstats").Val()) {
		var calls int
		if _, rest, ok := strings.Cut(line, ":calls="); ok {
			_, _ = fmt.Sscanf(rest, "%d", &calls)
			total += calls
		}
	}
	return total
}
