package redisq

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/wire"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// clutter fills a queue with everything that can be in one.
func (b *bench) clutter(queue string) {
	b.many(queue, "wait", 25)
	b.waiting(queue, "paused", "o1", "o2")
	b.waiting(queue, "active", "act")
	b.do("set", b.key(queue, "act:lock"), "t")
	for i, set := range []string{"completed", "delayed", "failed", "prioritized", "waiting-children"} {
		for k := range 7 {
			id := fmt.Sprintf("%s-%d", set, k)
			b.in(queue, set, id, int64(10*i+k), "deid", "held-"+id)
			b.do("set", b.key(queue, "de:held-"+id), id)
			b.do("rpush", b.key(queue, id+":logs"), "l")
		}
	}
	b.do("set", b.key(queue, "failed-1:lock"), "stray")
	b.do("zadd", b.key(queue, "repeat"), "1700000000000", "s:5", 1, "s")
	b.do("hset", b.key(queue, "repeat:s:5"), "ic", "1")
	b.do("hset", b.key(queue, "repeat:s"), "ic", "1")
	b.do("hset", b.key(queue, "repeat:unlisted"), "ic", "1")
	b.in(queue, "delayed", "repeat:s:5:1700000000000", 99)
	b.job(queue, "repeat:s:1500000000000")
	b.do("rpush", b.key(queue, "repeat:s:1500000000000:logs"), "l")
	b.job(queue, "orphan")
	b.do("rpush", b.key(queue, "trace:logs"), "of a job that is gone")
	b.do("set", b.key(queue, "de:window"), "gone", "px", 60000)
	b.do("hset", b.key(queue, "dn:window"), "jid", "x")
	b.do("hset", b.key(queue, "dn:alone"), "jid", "x")
	for _, key := range []string{"id", "pc", "limiter", "stalled-check"} {
		b.do("set", b.key(queue, key), 5)
	}
	for _, name := range []string{"completed", "failed"} {
		b.do("hset", b.key(queue, "metrics:"+name), "count", 1)
		b.do("rpush", b.key(queue, "metrics:"+name+":data"), 1)
	}
	b.do("sadd", b.key(queue, "stalled"), "act")
	b.do("zadd", b.key(queue, "marker"), 0, "0")
	b.do("zadd", b.key(queue, "priority"), 0, "0")
	b.do("xadd", b.key(queue, "events"), "*", "event", "added")
	b.do("hset", b.key(queue, "meta"), "opts.maxLenEvents", 100)
	b.do("xadd", b.key(queue, "gen:cancel"), "*", "id", "j0")
	b.do("hset", b.key(queue, "gen:group:a:failed"), "start", 1)
}

func TestObliterateLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"q", `q*[a]?\`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onServers(t, nil, func(b *bench) {
				// Queues whose keys look like those of this one.
				for _, other := range []string{"q2", "qa", "x" + name, name + "x"} {
					b.clutter(other)
				}
				b.under("bull:" + name).clutter("orphan")
				b.under("bull:" + name).clutter("25")
				before := b.keys()
				b.clutter(name)
				b.in("p", "waiting-children", "parent", 1)
				b.childOf("bull:p:parent", b.key(name, "failed-0"))

				require.ErrorIs(b.t, b.Obliterate(b.ctx, name, true, 3), storage.ErrNotPaused)
				require.NoError(b.t, b.Pause(b.ctx, name))
				require.ErrorIs(b.t, b.Obliterate(b.ctx, name, false, 3), storage.ErrActiveJobs)
				require.True(b.t, b.exists(name, "j0"))
				require.NoError(b.t, b.Obliterate(b.ctx, name, true, 3))

				missing, more := difference(before, b.keys())
				require.Empty(b.t, missing, "keys of other queues")
				require.Equal(b.t, []string{"bull:p:marker", "bull:p:parent", "bull:p:wait"}, more, "the parent in another queue that it released")
				require.Empty(b.t, b.events("p"))
			})
		})
	}
}

// A queue of such a name, under this queue's name as its prefix, has keys that
// are of the same form as some of this queue: none may be lost.
func TestObliterateSparesNestedQueues(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		for _, name := range []string{"de", "dn", "repeat"} {
			b.under("bull:q").clutter(name)
		}
		before := b.keys()
		b.clutter("q")
		require.NoError(b.t, b.Pause(b.ctx, "q"))
		require.NoError(b.t, b.Obliterate(b.ctx, "q", true, math.MaxInt))
		missing, _ := difference(before, b.keys())
		require.Empty(b.t, missing)
	})
}

// under is a bench with another prefix on the same database.
func (b *bench) under(prefix string) *bench {
	s, err := New(b.c, Prefix(prefix))
	require.NoError(b.t, err)
	return &bench{Store: s, t: b.t, c: b.c, ctx: b.ctx}
}

// difference is what one of two sorted lists has and the other has not.
func difference(before, after []string) (missing, more []string) {
	for _, key := range before {
		if !slices.Contains(after, key) {
			missing = append(missing, key)
		}
	}
	for _, key := range after {
		if !slices.Contains(before, key) {
			more = append(more, key)
		}
	}
	return missing, more
}

func TestObliterateStopsBetweenSteps(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.many("q", "wait", b.medium)
		require.NoError(b.t, b.Pause(b.ctx, "q"))
		ctx := b.cancelAfter(3)
		require.ErrorIs(b.t, b.Obliterate(ctx, "q", false, 0), context.Canceled)
		require.Len(b.t, b.list("q", "wait"), b.medium-3000)
		require.NoError(b.t, b.Obliterate(b.ctx, "q", false, 6000))
		require.Empty(b.t, b.keys())
	})
}

func TestRemoveOrphans(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.clutter("q")
		in := b.under("bull:q")
		in.clutter("orphan2")
		in.in("failedqueue", "failed", "lock", 1)
		in.in("failedqueue", "failed", "logs", 1)
		before := b.keys()

		n, err := b.RemoveOrphans(b.ctx, "q", 10, 1)
		require.NoError(b.t, err)
		require.Equal(b.t, 1, n)
		n, err = b.RemoveOrphans(b.ctx, "q", 0, 0)
		require.NoError(b.t, err)
		require.Equal(b.t, 1, n)
		missing, more := difference(before, b.keys())
		require.Equal(b.t, []string{"bull:q:orphan", "bull:q:trace:logs"}, missing)
		require.Empty(b.t, more)
		n, err = b.RemoveOrphans(b.ctx, "q", 0, 0)
		require.NoError(b.t, err)
		require.Zero(b.t, n)
	})
}

func TestRemoveManyOrphans(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		listed := b.many("q", "wait", b.medium)
		for from := 0; from < b.medium; from += 500 {
			pipe := b.c.Pipeline()
			for i := from; i < from+500; i++ {
				pipe.HSet(b.ctx, b.key("q", fmt.Sprintf("orphan%d", i)), "name", "n")
			}
			_, err := pipe.Exec(b.ctx)
			require.NoError(b.t, err)
		}
		ctx := b.cancelAfter(2)
		n, err := b.RemoveOrphans(ctx, "q", 0, 0)
		if n < b.medium { // the in-process server finds all keys in one step
			require.ErrorIs(b.t, err, context.Canceled)
		}
		rest, err := b.RemoveOrphans(b.ctx, "q", 20000, 0)
		require.NoError(b.t, err)
		require.Equal(b.t, b.medium, n+rest)
		require.Len(b.t, b.keys(), len(listed)+1)

		// What the list read first does not have is looked for once more.
		n, err = b.removeOrphans(b.ctx, "q", append([]string{"j5", "nope"}, listed...), 0)
		require.NoError(b.t, err)
		require.Zero(b.t, n)
	})
}

func TestKeysOfJobs(t *testing.T) {
	t.Parallel()
	for suffix, want := range map[string]string{
		"1": "1", "a-b": "a-b", "1:lock": "1", "x:failed": "x", "repeat": "", "repeat:s": "", "repeat:s:5": "",
		"metrics:failed": "", "metrics:failed:data": "", "dn:failed": "", "de:logs": "", "": "", ":lock": "",
		"a:b:c": "", "a:wait": "", "a:b:lock": "",
	} {
		id, ok := wire.JobOfKey(suffix)
		require.Equal(t, want != "", ok, suffix)
		if ok {
			require.Equal(t, want, id)
		}
	}
	for suffix, want := range map[string]string{
		"repeat:s:5": "repeat:s:5", "repeat:s:5:lock": "repeat:s:5", "repeat:a:b:7:logs": "repeat:a:b:7",
		"repeat:s": "", "repeat:5": "", "repeat:s:": "", "repeat:s:x5": "", "x:s:5": "",
	} {
		id, ok := iterationOfKey(suffix)
		require.Equal(t, want != "", ok, suffix)
		if ok {
			require.Equal(t, want, id)
		}
	}
}
