package redisq

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// bench is a store on an empty database, and what a test needs to lay things
// out in it by hand, as any peer may have left them.
type bench struct {
	*Store
	t   *testing.T
	c   *redis.Client
	ctx context.Context //nolint:containedctx // of the test
	// long is how many jobs a long list has, more than one step of 10000 takes,
	// and medium is enough for some steps of 1000: the in-process server is slow
	// with long lists, ten times more so under the race detector.
	long, medium int
}

// onServers runs a test on a Redis server and on the in-process one.
func onServers(t *testing.T, opts []Option, test func(b *bench)) {
	t.Helper()
	run := func(name string, server func(testing.TB) *testredis.Server, long, medium int) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := server(t).Options()
			o.ReadTimeout = 5 * time.Minute
			c := redis.NewClient(o)
			t.Cleanup(func() { _ = c.Close() })
			s, err := New(c, opts...)
			require.NoError(t, err)
			test(&bench{Store: s, t: t, c: c, ctx: t.Context(), long: long, medium: medium})
		})
	}
	run("redis", testredis.Shared, 20000, 20000)
	run("in-process", testredis.Mini, 10500, 3500)
}

// do runs a command, which must succeed.
func (b *bench) do(args ...any) any {
	b.t.Helper()
	v, err := b.c.Do(b.ctx, args...).Result()
	if err != redis.Nil { //nolint:errorlint // as go-redis returns it
		require.NoError(b.t, err)
	}
	return v
}

// key makes the name of a key of a queue.
func (b *bench) key(queue, name string) string { return b.prefix + ":" + queue + ":" + name }

// job writes the hash of a job, with more fields than the ones all jobs have.
func (b *bench) job(queue, id string, fields ...any) {
	b.t.Helper()
	args := []any{"hset", b.key(queue, id), "name", "n", "data", "{}", "opts", "{}", "timestamp", "1000", "delay", "0", "priority", "0"}
	b.do(append(args, fields...)...)
}

// waiting adds plain jobs to a list, so that the first given runs first.
func (b *bench) waiting(queue, list string, ids ...string) {
	b.t.Helper()
	for _, id := range ids {
		b.job(queue, id)
		b.do("lpush", b.key(queue, list), id)
	}
}

// in adds a job to a sorted set.
func (b *bench) in(queue, set, id string, score int64, fields ...any) {
	b.t.Helper()
	b.job(queue, id, fields...)
	b.do("zadd", b.key(queue, set), score, id)
}

// childOf makes a job wait for a child, which exists; both are full keys.
func (b *bench) childOf(parent, child string) {
	b.t.Helper()
	b.do("hset", child, "parentKey", parent)
	b.do("sadd", parent+":dependencies", child)
}

// many adds n waiting jobs "j0", "j1", ..., the first to run first, in few calls.
func (b *bench) many(queue, list string, n int) []string {
	b.t.Helper()
	var ids []string
	for from := 0; from < n; from += 1000 {
		pipe := b.c.Pipeline()
		for i := from; i < min(from+1000, n); i++ {
			id := "j" + strconv.Itoa(i)
			pipe.HSet(b.ctx, b.key(queue, id), "name", "n", "data", "{}", "opts", "{}", "timestamp", 1000)
			ids = append(ids, id)
		}
		_, err := pipe.Exec(b.ctx)
		require.NoError(b.t, err)
	}
	// From left to right: the in-process server moves a whole list for each push on its left.
	for to := n; to > 0; to -= 1000 {
		args := []any{"rpush", b.key(queue, list)}
		for i := to - 1; i >= max(0, to-1000); i-- {
			args = append(args, ids[i])
		}
		b.do(args...)
	}
	return ids
}

// list reads a list, the entry that runs first at the front.
func (b *bench) list(queue, name string) []string {
	b.t.Helper()
	ids, err := b.c.LRange(b.ctx, b.key(queue, name), 0, -1).Result()
	require.NoError(b.t, err)
	slices.Reverse(ids)
	return ids
}

// set reads a sorted set, lowest score first.
func (b *bench) set(queue, name string) []string {
	b.t.Helper()
	ids, err := b.c.ZRange(b.ctx, b.key(queue, name), 0, -1).Result()
	require.NoError(b.t, err)
	return ids
}

// keys are all keys of the database.
func (b *bench) keys() []string {
	b.t.Helper()
	keys, err := b.c.Keys(b.ctx, "*").Result()
	require.NoError(b.t, err)
	slices.Sort(keys)
	return keys
}

// events are those of a queue, each with its fields in the order of their names.
func (b *bench) events(queue string) []string {
	b.t.Helper()
	msgs, err := b.c.XRange(b.ctx, b.key(queue, "events"), "-", "+").Result()
	require.NoError(b.t, err)
	out := []string{}
	for _, m := range msgs {
		text := []string{fmt.Sprint(m.Values["event"])}
		for _, f := range slices.Sorted(maps.Keys(m.Values)) {
			if f != "event" {
				text = append(text, fmt.Sprint(f, "=", m.Values[f]))
			}
		}
		out = append(out, strings.Join(text, " "))
	}
	return out
}

// exists reports whether a key of a queue exists.
func (b *bench) exists(queue, name string) bool {
	b.t.Helper()
	return b.do("exists", b.key(queue, name)).(int64) == 1
}

// cancelAfter is a context that is cancelled once n scripts have run.
func (b *bench) cancelAfter(n int) context.Context {
	ctx, cancel := context.WithCancel(b.ctx)
	b.t.Cleanup(cancel)
	b.c.AddHook(&scriptCounter{left: n, at: cancel})
	return ctx
}

// scriptCounter calls a function after a number of scripts.
type scriptCounter struct {
	left int
	at   func()
}

func (h *scriptCounter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *scriptCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *scriptCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if strings.HasPrefix(cmd.Name(), "eval") && err == nil {
			if h.left--; h.left == 0 {
				h.at()
			}
		}
		return err
	}
}
