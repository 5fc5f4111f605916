package redisq

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// A delayed job that its parent waits for, and whose place another job takes by
// its deduplication id, leaves the parent: it would wait for ever.
func TestNoParentWaitsForAReplacedJob(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.in("p", "waiting-children", "one", 1)
		b.in("p", "waiting-children", "two", 1, "delay", "500")
		delayed := func(parent string) storage.NewJob {
			job := plainJob("child")
			job.Delay = time.Minute
			job.Dedup = &storage.Dedup{ID: "d" + parent, Replace: true}
			if parent != "" {
				job.Parent = &storage.Parent{ID: parent, Queue: "bull:p"}
			}
			return job
		}
		other := plainJob("other")
		other.Parent = &storage.Parent{ID: "two", Queue: "bull:p"}
		added, err := b.Add(b.ctx, "q", []storage.NewJob{delayed("one"), delayed("two"), other})
		require.NoError(t, err)

		taker := delayed("one")
		taker.Parent = nil
		replaced, err := b.Add(b.ctx, "q", []storage.NewJob{taker, delayed("two")})
		require.NoError(t, err)
		require.False(t, b.exists("q", added[0].ID))
		require.False(t, b.exists("q", added[1].ID))
		require.ElementsMatch(t, []string{replaced[0].ID, replaced[1].ID}, b.set("q", "delayed"))
		require.Equal(t, []string{"one"}, b.list("p", "wait"), "nothing is left to wait for")
		require.Equal(t, []string{"two"}, b.set("p", "waiting-children"))
		require.ElementsMatch(t, []string{b.key("q", replaced[1].ID), b.key("q", added[2].ID)},
			b.c.SMembers(b.ctx, b.key("p", "two:dependencies")).Val(), "the child that takes the place is waited for")
	})
}

// A job that got the id of one that held a deduplication id is another job:
// nothing that is added under that deduplication id replaces, moves or follows it.
func TestAnotherJobWithTheHoldersID(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		job := func(id string, d *storage.Dedup, delay time.Duration) storage.NewJob {
			j := plainJob("n")
			j.ID, j.Dedup, j.Delay = id, d, delay
			return j
		}
		add := func(j storage.NewJob) storage.Added {
			added, err := b.Add(b.ctx, "q", []storage.NewJob{j})
			require.NoError(t, err)
			return added[0]
		}
		add(job("c", &storage.Dedup{ID: "throttled", TTL: time.Hour}, 0))
		reply := b.mustSettle(settleAt(1))
		done := completed("c")
		done.Keep, done.Token = storage.Keep{Remove: true}, reply.Jobs[0].ID
		require.NoError(t, b.c.Set(b.ctx, b.key("q", "c:lock"), done.Token, 0).Err())
		b.settleAll(settleAt(0, done))
		require.False(t, b.exists("q", "c"))

		add(job("c", &storage.Dedup{ID: "other"}, time.Minute))
		due := b.c.ZScore(b.ctx, b.key("q", "delayed"), "c").Val()
		for _, d := range []storage.Dedup{
			{Replace: true}, {Reschedule: true}, {KeepLastIfActive: true},
		} {
			d.ID = "throttled"
			require.Equal(t, storage.Added{ID: "c", Existing: true, Name: "n"}, add(job("", &d, time.Second)), "%+v", d)
			require.Equal(t, []string{"c"}, b.set("q", "delayed"))
			require.InDelta(t, due, b.c.ZScore(b.ctx, b.key("q", "delayed"), "c").Val(), 0)
			require.False(t, b.exists("q", "dn:throttled"))
		}
		require.NoError(t, b.c.Persist(b.ctx, b.key("q", "de:throttled")).Err())
		require.False(t, add(job("", &storage.Dedup{ID: "throttled"}, 0)).Existing, "held by nobody")
	})
}
