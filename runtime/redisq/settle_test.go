package redisq

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// settleAt makes a request at the time of these tests.
func settleAt(take int, settle ...storage.Settlement) *storage.SettleRequest {
	return &storage.SettleRequest{
		Now: time.UnixMilli(settleTime), Settle: settle, Take: take, Token: "tok", Worker: "w", Lock: 30 * time.Second,
	}
}

// mustSettle carries out a request on queue q.
func (b *bench) mustSettle(req *storage.SettleRequest) *storage.SettleReply {
	b.t.Helper()
	reply, err := b.Settle(b.ctx, "q", req)
	require.NoError(b.t, err)
	require.Len(b.t, reply.Errs, len(req.Settle))
	return reply
}

// settleAll carries out a request of which no job is refused.
func (b *bench) settleAll(req *storage.SettleRequest) *storage.SettleReply {
	b.t.Helper()
	reply := b.mustSettle(req)
	for _, err := range reply.Errs {
		require.NoError(b.t, err)
	}
	return reply
}

// take makes jobs wait on queue q and takes them.
func (b *bench) take(ids ...string) {
	b.t.Helper()
	b.waiting("q", "wait", ids...)
	require.Equal(b.t, ids, idsOf(b.mustSettle(settleAt(len(ids))).Jobs))
}

func completed(id string) storage.Settlement {
	return storage.Settlement{ID: id, Token: "tok", Kind: storage.Completed, Value: []byte(`{"ok":true}`)}
}

func settledAs(kind storage.SettleKind, id string) storage.Settlement {
	return storage.Settlement{ID: id, Token: "tok", Kind: kind, Reason: "boom", Stack: []byte(`["at a"]`)}
}

func (b *bench) fields(id string) map[string]string {
	b.t.Helper()
	h, err := b.c.HGetAll(b.ctx, b.key("q", id)).Result()
	require.NoError(b.t, err)
	return h
}

func TestTakeTellsAllOfAJob(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.do("hset", "bull:q:1", "name", "mail", "data", `{"a":1}`, "opts", `{"x":[]}`, "timestamp", "1000", "delay", "0", "priority", "0")
		b.do("hset", "bull:q:2", "name", "old", "data", "", "opts", "{}", "timestamp", "1000", "delay", "0", "priority", "0",
			"atm", "1", "ats", "1", "failedReason", "boom", "color", "red", "pb", "other")
		b.do("lpush", "bull:q:wait", "1", "2")
		b.in("q", "prioritized", "3", 5<<32, "priority", "5")

		jobs := b.mustSettle(settleAt(5)).Jobs
		now := time.UnixMilli(settleTime)
		require.Equal(t, []*storage.Record{
			{
				ID: "1", Name: "mail", Data: []byte(`{"a":1}`), Opts: []byte(`{"x":[]}`), Timestamp: time.UnixMilli(1000),
				AttemptsStarted: 1, ProcessedOn: now, ProcessedBy: "w",
			},
			{
				ID: "2", Name: "old", Data: []byte{}, Opts: []byte("{}"), Timestamp: time.UnixMilli(1000), AttemptsMade: 1, AttemptsStarted: 2,
				ProcessedOn: now, ProcessedBy: "w", FailedReason: "boom", Extra: map[string]string{"color": "red"},
			},
			{
				ID: "3", Name: "n", Data: []byte("{}"), Opts: []byte("{}"), Timestamp: time.UnixMilli(1000), Priority: 5, AttemptsStarted: 1,
				ProcessedOn: now, ProcessedBy: "w",
			},
		}, jobs)
		for _, j := range jobs { // what was answered is what is stored
			stored, err := b.Jobs(b.ctx, "q", j.ID)
			require.NoError(t, err)
			require.Equal(t, j, stored[0])
		}
		require.Equal(t, []string{"1", "2", "3"}, b.list("q", "active"))
		require.Equal(t, []string{"0"}, b.set("q", "marker"))
		for _, id := range []string{"1", "2", "3"} {
			require.Equal(t, "tok", b.do("get", b.key("q", id+":lock")))
			require.InDelta(t, 30000, b.do("pttl", b.key("q", id+":lock")), 5000)
		}
	})
}

func TestTakeWithoutNameOrLock(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.waiting("q", "wait", "1")
		req := settleAt(1)
		req.Worker, req.Token = "", "0"
		require.Equal(t, []string{"1"}, idsOf(b.mustSettle(req).Jobs))
		require.NotContains(t, b.fields("1"), "pb")
		require.False(t, b.exists("q", "1:lock"))

		st := completed("1")
		st.Token = "0"
		req = settleAt(0, st)
		req.Worker = ""
		b.settleAll(req)
		require.Equal(t, []string{"1"}, b.set("q", "completed"))
	})
}

// A taken job has as many fields with a deduplication id as with the name of a
// worker: it must not pass for a plain one.
func TestSettleKnowsPlainJobsByTheirWorker(t *testing.T) {
	t.Parallel()
	for _, worker := range []string{"", "w"} {
		onServers(t, nil, func(b *bench) {
			b.job("q", "1", "deid", "d")
			b.job("q", "2", "atm", "4")
			b.do("set", "bull:q:de:d", "1")
			b.do("lpush", "bull:q:wait", "1", "2")
			req := settleAt(2)
			req.Worker = worker
			b.mustSettle(req)
			req = settleAt(0, completed("1"), completed("2"))
			req.Worker = worker
			b.settleAll(req)
			require.False(t, b.exists("q", "de:d"))
			require.Equal(t, "5", b.fields("2")["atm"])
			require.Equal(t, "1", b.fields("1")["atm"])
		})
	}
}

func TestSettleManyOutOfALongActiveList(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 2, 7, 50, 600} {
		t.Run(fmt.Sprint("batches of ", size), func(t *testing.T) {
			t.Parallel()
			onServers(t, nil, func(b *bench) {
				ids := b.many("q", "wait", 1000)
				require.Equal(t, ids, idsOf(b.mustSettle(settleAt(1000)).Jobs))
				rnd := rand.New(rand.NewPCG(uint64(size), 1))
				going := slices.Clone(ids)
				rnd.Shuffle(len(going), func(i, j int) { going[i], going[j] = going[j], going[i] })
				staying := slices.Clone(going[900:])
				slices.SortFunc(staying, func(x, y string) int { return slices.Index(ids, x) - slices.Index(ids, y) })
				for batch := range slices.Chunk(going[:900], size) {
					req := settleAt(0)
					for _, id := range batch {
						req.Settle = append(req.Settle, completed(id))
					}
					b.settleAll(req)
				}
				require.Equal(t, staying, b.list("q", "active"))
				require.Len(t, b.set("q", "completed"), 900)
				locks, err := b.c.Keys(b.ctx, "*:lock").Result()
				require.NoError(t, err)
				require.Len(t, locks, 100)
			})
		})
	}
}

func TestSettleRefusesSomeAndDoesTheOthers(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.take("ok", "foreign", "unlocked", "away", "parent", "failed", "gone", "twice", "retry", "alone")
		b.do("set", "bull:q:foreign:lock", "someone")
		b.do("del", "bull:q:unlocked:lock")
		b.do("lrem", "bull:q:active", 1, "away")
		b.do("sadd", "bull:q:parent:dependencies", "bull:q:x")
		b.do("zadd", "bull:q:failed:unsuccessful", 1, "bull:q:x")
		b.do("del", "bull:q:gone")

		want := []struct {
			st  storage.Settlement
			err error
		}{
			{completed("foreign"), storage.ErrLockMismatch},
			{completed("ok"), nil},
			{completed("unlocked"), storage.ErrLockLost},
			{completed("away"), storage.ErrNotInState},
			{completed("parent"), storage.ErrPendingChildren},
			{completed("failed"), storage.ErrFailedChildren},
			{completed("gone"), storage.ErrJobNotFound},
			{completed("twice"), nil},
			{completed("twice"), storage.ErrLockLost},
			{settledAs(storage.RetryNow, "retry"), nil},
			{settledAs(storage.RetryNow, "retry"), storage.ErrLockLost},
			{settledAs(storage.WaitForChildren, "alone"), storage.ErrNoChildren},
			{settledAs(storage.WaitForChildren, "failed"), storage.ErrFailedChildren},
			{completed("nobody"), storage.ErrJobNotFound},
		}
		req := settleAt(0)
		for _, w := range want {
			req.Settle = append(req.Settle, w.st)
		}
		reply := b.mustSettle(req)
		for i, w := range want {
			require.ErrorIs(t, reply.Errs[i], w.err, "%d: %s", i, w.st.ID)
			var e *storage.Error
			if w.err != nil {
				require.ErrorAs(t, reply.Errs[i], &e)
				require.Equal(t, storage.Error{Op: "settle", Queue: "q", Job: w.st.ID, Err: w.err}, *e)
			}
		}
		require.ElementsMatch(t, []string{"ok", "twice"}, b.set("q", "completed"))
		require.Equal(t, []string{"retry"}, b.list("q", "wait"))
		require.Equal(t, []string{"foreign", "unlocked", "parent", "failed", "gone", "alone"}, b.list("q", "active"))
		require.Equal(t, "tok", b.do("get", "bull:q:parent:lock"), "a job with children keeps its lock")
		require.False(t, b.exists("q", "away:lock"))
	})
}

func TestTakeFillsTheSlotsOfTheQueue(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.do("hset", "bull:q:meta", "concurrency", "5")
		b.take("1", "2")
		b.waiting("q", "wait", "3", "4", "5", "6", "7")
		b.in("q", "delayed", "8", (settleTime+5000)*4096)
		require.Equal(t, []string{"3", "4", "5"}, idsOf(b.mustSettle(settleAt(10)).Jobs))
		require.Equal(t, &storage.SettleReply{Errs: []error{}}, b.mustSettle(settleAt(10)), "all slots are used")
		require.Equal(t, []string{"6", "7"}, idsOf(b.settleAll(settleAt(10, completed("1"), completed("4"))).Jobs), "slots that become free are used")
	})
}

func TestFreedSlotWakesAWorker(t *testing.T) {
	t.Parallel()
	for kind, wakes := range map[storage.SettleKind]bool{
		storage.Completed: true, storage.Failed: true, storage.RetryLater: true, storage.DelayedUntil: true,
	} {
		onServers(t, nil, func(b *bench) {
			b.do("hset", "bull:q:meta", "concurrency", "1")
			b.take("1")
			b.waiting("q", "wait", "2")
			b.do("del", "bull:q:marker") // whoever was woken found no free slot
			st := settledAs(kind, "1")
			st.Delay = time.Second
			b.settleAll(settleAt(0, st))
			require.Equal(t, wakes, slices.Contains(b.set("q", "marker"), "0"), string(kind))
		})
	}
	onServers(t, nil, func(b *bench) { // its own rate limit keeps the worker from it, and others have none
		b.do("hset", "bull:q:meta", "concurrency", "1")
		b.take("1")
		b.waiting("q", "wait", "2")
		b.do("del", "bull:q:marker")
		require.NoError(t, b.RateLimit(b.ctx, "q", time.Hour))
		req := settleAt(1, completed("1"))
		req.Limit = &storage.RateLimit{Max: 9, Per: time.Hour}
		require.Positive(t, b.settleAll(req).Limited)
		require.Equal(t, []string{"0"}, b.set("q", "marker"))
	})
	onServers(t, nil, func(b *bench) { // nothing waits, or nothing may be taken
		b.do("hset", "bull:q:meta", "concurrency", "1")
		b.take("1")
		b.do("del", "bull:q:marker")
		b.settleAll(settleAt(0, completed("1")))
		require.Empty(t, b.set("q", "marker"))
		b.take("2")
		b.waiting("q", "wait", "3")
		b.do("del", "bull:q:marker")
		b.do("hset", "bull:q:meta", "paused", "1")
		b.settleAll(settleAt(0, completed("2")))
		require.Empty(t, b.set("q", "marker"))
	})
}

func TestTakeKeepsToARateLimit(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.waiting("q", "wait", "1", "2", "3", "4", "5", "6", "7", "8")
		for _, id := range []string{"2", "3", "5"} { // these are only to be failed
			b.do("hset", b.key("q", id), "defa", "child failed")
		}
		req := settleAt(10)
		req.Limit = &storage.RateLimit{Max: 4, Per: time.Hour}
		reply := b.mustSettle(req)
		require.Equal(t, []string{"1", "2", "3", "4", "5", "6", "7"}, idsOf(reply.Jobs))
		remains(t, reply.Limited, time.Hour)
		require.Equal(t, "4", b.do("get", "bull:q:limiter"))

		b.in("q", "delayed", "9", (settleTime-5)*4096)
		reply = b.mustSettle(req)
		require.Empty(t, reply.Jobs)
		remains(t, reply.Limited, time.Hour)
		require.Equal(t, []string{"8", "9"}, b.list("q", "wait"), "due jobs wait all the same")

		req.Limit = nil
		require.Equal(t, []string{"8", "9"}, idsOf(b.mustSettle(req).Jobs), "a worker without a limit is not limited")

		b.do("del", "bull:q:limiter")
		b.do("hset", "bull:q:meta", "max", "1", "duration", "50000") // less than the half of the worker's time
		b.waiting("q", "wait", "10", "11")
		req.Limit = &storage.RateLimit{Max: 4, Per: time.Hour}
		reply = b.mustSettle(req)
		require.Equal(t, []string{"10"}, idsOf(reply.Jobs), "the maximum of the queue comes first")
		remains(t, reply.Limited, time.Hour)

		b.do("set", "bull:q:limiter", "9")
		require.Equal(t, []string{"11"}, idsOf(b.mustSettle(req).Jobs), "a count that never ends limits nothing")
	})
}

func TestBackToWaitKeepsTheOrder(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.take("1", "2", "3", "4")
		b.waiting("q", "wait", "5")
		b.settleAll(settleAt(0, settledAs(storage.BackToWait, "1"), completed("4"), settledAs(storage.BackToWait, "2"), settledAs(storage.BackToWait, "3")))
		require.Equal(t, []string{"1", "2", "3", "5"}, b.list("q", "wait"))
		require.NotContains(t, b.fields("1"), "atm")
		require.NotContains(t, b.fields("1"), "failedReason")
	})
}

// A job that was never run has no start counted, whatever came before.
func TestBackToWaitOfJobsThatWereNotRun(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.take("1", "2")
		unstarted := settledAs(storage.BackToWait, "2")
		unstarted.Unstarted = true
		b.settleAll(settleAt(0, settledAs(storage.BackToWait, "1"), unstarted))
		require.Equal(t, "1", b.fields("1")["ats"])
		require.Equal(t, "0", b.fields("2")["ats"])
		reply := b.settleAll(settleAt(2))
		require.Equal(t, []string{"1", "2"}, idsOf(reply.Jobs))
		require.Equal(t, []int{2, 1}, []int{reply.Jobs[0].AttemptsStarted, reply.Jobs[1].AttemptsStarted})
	})
}

// remains requires that of a time that was just set at least the half is left:
// however slow the machine is, it was that time and no other.
func remains(t *testing.T, left, of time.Duration) {
	t.Helper()
	require.Greater(t, left, of/2)
	require.LessOrEqual(t, left, of)
}

// A job that meets a limit set by hand goes back to wait: the same call must
// not take it again, even if the worker has no limit of its own.
func TestBackToWaitUnderALimitSetByHand(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.take("1")
		require.NoError(t, b.RateLimit(b.ctx, "q", time.Hour))
		reply := b.settleAll(settleAt(1, settledAs(storage.BackToWait, "1")))
		require.Empty(t, reply.Jobs)
		remains(t, reply.Limited, time.Hour)
		require.Equal(t, []string{"1"}, idsOf(b.mustSettle(settleAt(1)).Jobs))

		b.do("set", "bull:q:limiter", "1", "px", "60000") // an ordinary count
		reply = b.settleAll(settleAt(1, settledAs(storage.BackToWait, "1")))
		require.Equal(t, []string{"1"}, idsOf(reply.Jobs))
		require.Zero(t, reply.Limited)
	})
}

func TestBackToWaitOfAPrioritizedJobWakesAWorker(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.in("q", "prioritized", "1", 5<<32+1, "priority", "5")
		b.in("q", "prioritized", "2", 5<<32+2, "priority", "5")
		require.Equal(t, []string{"1"}, idsOf(b.mustSettle(settleAt(1)).Jobs))
		b.do("del", "bull:q:marker")
		b.settleAll(settleAt(0, settledAs(storage.BackToWait, "1")))
		require.Equal(t, []string{"1", "2"}, b.set("q", "prioritized"))
		require.Equal(t, []string{"0"}, b.set("q", "marker"))
	})
}

func TestDrainedIsToldOnceAndWhenItIsSo(t *testing.T) {
	t.Parallel()
	drained := func(b *bench) int {
		n := 0
		for _, e := range b.events("q") {
			if e == "drained" {
				n++
			}
		}
		return n
	}
	onServers(t, nil, func(b *bench) {
		b.take("1", "2", "3", "4", "5")
		b.settleAll(settleAt(0, completed("1")))
		require.Zero(t, drained(b), "others are active")
		b.waiting("q", "wait", "6")
		require.Equal(t, []string{"6"}, idsOf(b.settleAll(settleAt(1, completed("2"), completed("3"), settledAs(storage.Failed, "4"))).Jobs))
		require.Zero(t, drained(b), "another one was taken")
		b.settleAll(settleAt(3, completed("5"), completed("6")))
		require.Equal(t, 1, drained(b))
		b.mustSettle(settleAt(3))
		require.Equal(t, 1, drained(b), "nothing finished")

		b.take("7")
		b.in("q", "delayed", "8", (settleTime+5000)*4096)
		reply := b.settleAll(settleAt(1, completed("7")))
		require.Equal(t, time.UnixMilli(settleTime+5000), reply.Due)
		require.Equal(t, 1, drained(b), "a delayed job is to come")
	})
}

// Somebody deleted the job: no worker can do anything with its id.
func TestAnIDWithoutAJobIsDroppedWhenItIsTaken(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.do("rpush", "bull:q:wait", "ghost")
		b.do("zadd", "bull:q:prioritized", 1, "ghost2")
		b.waiting("q", "wait", "1")
		require.Empty(t, b.mustSettle(settleAt(1)).Jobs[1:])
		b.waiting("q", "wait", "2")
		b.do("rpush", "bull:q:wait", "ghost")
		require.Equal(t, []string{"2"}, idsOf(b.mustSettle(settleAt(3)).Jobs))
		for _, id := range []string{"ghost", "ghost2"} {
			require.False(t, b.exists("q", id), id)
			require.False(t, b.exists("q", id+":lock"), id)
		}
		require.Equal(t, []string{"1", "2"}, b.list("q", "active"))
	})
}

func TestMarkersOfOldVersionsAreNoJobs(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.do("rpush", "bull:q:wait", "0:5")
		b.waiting("q", "wait", "1")
		b.do("lpush", "bull:q:wait", "0:0", "0:7")
		b.waiting("q", "wait", "01")
		require.Equal(t, []string{"1"}, idsOf(b.mustSettle(settleAt(1)).Jobs))
		require.Equal(t, []string{"01"}, idsOf(b.mustSettle(settleAt(5)).Jobs))
		require.Equal(t, []string{"1", "01"}, b.list("q", "active"))
	})
}

// A retried job that is to wait must find a worker, and so must the delayed
// one: also when the same call takes another job.
func TestDelayedRetryIsToldToWorkers(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.take("1")
		b.waiting("q", "wait", "2")
		st := settledAs(storage.RetryLater, "1")
		st.Delay = 1500 * time.Millisecond
		require.Equal(t, []string{"2"}, idsOf(b.settleAll(settleAt(1, st)).Jobs))
		score, err := b.c.ZScore(b.ctx, "bull:q:marker", "1").Result()
		require.NoError(t, err)
		require.InDelta(t, float64(settleTime+1500), score, 0)
		require.Equal(t, "1", b.fields("1")["atm"])
		require.Equal(t, "1500", b.fields("1")["delay"])
		require.Equal(t, time.UnixMilli(settleTime+1500), b.mustSettle(settleAt(1)).Due)
	})
}

func TestRetryOnAQueueThat5xPaused(t *testing.T) {
	t.Parallel()
	onServers(t, []Option{Peers5()}, func(b *bench) {
		b.take("1", "2")
		b.do("hset", "bull:q:meta", "paused", "1")
		b.settleAll(settleAt(1, settledAs(storage.RetryNow, "1"), settledAs(storage.BackToWait, "2")))
		require.Equal(t, []string{"2", "1"}, b.list("q", "paused"))
		require.False(t, b.exists("q", "wait"))
	})
}

func TestRetentionOfABatch(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		ids := make([]string, 9)
		for i := range ids {
			ids[i] = strconv.Itoa(i + 1)
		}
		b.take(ids...)
		b.in("q", "completed", "old", settleTime-5000, "finishedOn", fmt.Sprint(int64(settleTime-5000)))
		req := settleAt(0)
		for i, id := range ids {
			st := completed(id)
			switch {
			case i < 6:
				st.Keep = storage.Keep{Count: 4}
			case i == 6:
				st.Keep = storage.Keep{Remove: true}
			case i == 7:
				st.Kind, st.Keep = storage.Failed, storage.Keep{Remove: true}
			}
			req.Settle = append(req.Settle, st)
		}
		b.settleAll(req)
		require.Equal(t, []string{"3", "4", "5", "6", "9"}, b.set("q", "completed"), "four of the first six, and the one that is kept for ever")
		for _, id := range []string{"1", "2", "7", "8", "old"} {
			require.False(t, b.exists("q", id), id)
		}
		require.False(t, b.exists("q", "failed"))
	})
}

func TestSettleRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	s := openOn(t, "redis://127.0.0.1:1") // nothing is sent
	for want, req := range map[string]*storage.SettleRequest{
		"without a token":              {Take: 1, Lock: time.Second},
		"at least a millisecond":       {Take: 1, Token: "t", Lock: time.Microsecond},
		`its kind 'x' is not known`:    {Settle: []storage.Settlement{{ID: "1", Kind: 'x'}}},
		`its kind '\x00' is not known`: {Settle: []storage.Settlement{{ID: "1"}}},
	} {
		_, err := s.Settle(t.Context(), "q", req)
		require.ErrorContains(t, err, want)
	}
	_, err := s.Settle(t.Context(), "a:b", settleAt(1))
	require.ErrorContains(t, err, "colon")
}

// What jobs have in common is sent once, in both directions: each is still taken
// as if it were the only one, and gets its own result.
func TestSettleTellsWhatJobsShareOnce(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		t := b.t
		p := func(id string) []any {
			return []any{"parentKey", "bull:q:" + id, "parent", `{"id":"` + id + `","queueKey":"bull:q"}`}
		}
		fill := func() []string {
			b.do("flushdb")
			jobs := [][]any{
				nil, nil, {"name", "m"}, {"name", "m"}, {"opts", `{"a":1}`}, {"timestamp", "7"}, p("p1"), p("p1"), p("p2"),
				append(p("p2"), "parent", "{}"), nil, {"ats", "1", "atm", "1"}, nil, {"parentKey", "", "parent", ""}, nil,
			}
			ids := make([]string, len(jobs))
			for i, fields := range jobs {
				ids[i] = strconv.Itoa(i)
				b.waiting("q", "wait", ids[i])
				b.do("hset", b.key("q", ids[i]), "data", "["+ids[i]+"]")
				if fields != nil {
					b.do(append([]any{"hset", b.key("q", ids[i])}, fields...)...)
				}
			}
			return ids
		}
		var want []*storage.Record
		for range fill() {
			want = append(want, b.mustSettle(settleAt(1)).Jobs...)
		}
		ids := fill()
		b.do("set", b.key("q", "2:lock"), "of another")
		require.Equal(t, want, b.mustSettle(settleAt(len(ids))).Jobs)
		for _, id := range ids {
			require.Equal(t, "tok", b.c.Get(b.ctx, b.key("q", id+":lock")).Val(), id)
			require.Positive(t, b.c.PTTL(b.ctx, b.key("q", id+":lock")).Val(), id)
		}
		b.do("set", b.key("q", "3:lock"), "of another")
		req := settleAt(0)
		for i, id := range ids {
			st := completed(id)
			st.Value = []byte(strconv.Itoa(i / 2))
			req.Settle = append(req.Settle, st)
		}
		req.Settle[3].Token = "of another"
		b.settleAll(req)
		for i, id := range ids {
			require.Equal(t, strconv.Itoa(i/2), b.fields(id)["returnvalue"], id)
			require.False(t, b.exists("q", id+":lock"), id)
		}
	})
}

// Locks are copies of the first one; they are the same where we may not copy.
func TestTakenJobsAreLockedWithoutCopies(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	b := &bench{Store: openOn(t, srv.URL()), t: t, c: srv.Client(t), ctx: t.Context()}
	b.do("acl", "setuser", "default", "-copy")
	b.take("1", "2", "3")
	for _, id := range []string{"1", "2", "3"} {
		require.Equal(t, "tok", b.c.Get(b.ctx, b.key("q", id+":lock")).Val(), id)
		require.Positive(t, b.c.PTTL(b.ctx, b.key("q", id+":lock")).Val(), id)
	}
}

func TestSettleDoesNotTrustAReply(t *testing.T) {
	t.Parallel()
	req := settleAt(1, completed("1"))
	for _, out := range [][]string{
		{"0"}, {"x"}, {"l"}, {"d"}, {"r", "1"}, {"r", "2", "-1"}, {"r", "0", "-1"}, {"1", "n", "{}"}, {"1", "n", "{}", "0", "7"},
		{"2", "n", "{}", "0", "7", "{}"}, {"-1", "n", "{}", "0", "7", "{}"}, {"o", "7"}, {"o", "7", "4", "name"}, {"o", "7", "-2", "name"},
	} {
		_, err := parseSettled(out, "q", req)
		require.Error(t, err, out)
	}
	reply, err := parseSettled([]string{"r", "1", "-99", "l", "5"}, "q", req)
	require.NoError(t, err)
	require.ErrorContains(t, reply.Errs[0], "-99")
	require.Equal(t, 5*time.Millisecond, reply.Limited)
}

func TestCommonPolicyIsThatOfMost(t *testing.T) {
	t.Parallel()
	keep := func(counts ...int) policy {
		var jobs []storage.Settlement
		for _, n := range counts {
			jobs = append(jobs, storage.Settlement{Kind: storage.Completed, Keep: storage.Keep{Count: n}},
				storage.Settlement{Kind: storage.Failed, Keep: storage.Keep{Count: 99}})
		}
		return commonPolicy(jobs)
	}
	require.Equal(t, policy{count: -1, limit: 1000}, keep())
	require.Equal(t, policy{count: 3, limit: 1000}, keep(3, 5, 3))
	require.Equal(t, policy{count: 3, limit: 1000}, keep(5, 4, 3, 3, 3))
	require.Equal(t, policy{count: -1, age: 1, limit: 7}, policyOf(&storage.Keep{Age: time.Microsecond, Limit: 7}))
	require.Equal(t, policy{count: 0, limit: 1000}, policyOf(&storage.Keep{Remove: true, Count: 5, Age: time.Hour}))
}

// A server that is out of memory refuses a call before it changes anything, or
// carries it out as a whole: no job may be left in no state.
func TestSettleIsWholeWhenMemoryIsShort(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	b := &bench{Store: openOn(t, srv.URL()), t: t, c: srv.Client(t), ctx: t.Context()}
	short := func(maxmemory string) { require.NoError(t, b.c.ConfigSet(b.ctx, "maxmemory", maxmemory).Err()) }
	b.mustSettle(settleAt(0)) // a server that is out of memory takes no new script
	for _, kind := range []storage.SettleKind{
		storage.Completed, storage.Failed, storage.RetryNow, storage.RetryLater, storage.DelayedUntil, storage.BackToWait,
	} {
		srv.FlushAll()
		b.mustSettle(settleAt(0))
		b.take("1", "2", "3")
		b.waiting("q", "wait", "4", "5")
		before := b.state()
		short("1")
		reply, err := b.Settle(b.ctx, "q", settleAt(2, settledAs(kind, "1"), settledAs(kind, "3")))
		short("0")
		if err != nil {
			require.ErrorContains(t, err, "OOM")
			require.Empty(t, vectors.Diff(before, b.state()), string(kind))
			continue
		}
		require.Equal(t, []error{nil, nil}, reply.Errs)
		placed := slices.Concat(b.list("q", "active"), b.list("q", "wait"), b.set("q", "completed"), b.set("q", "failed"), b.set("q", "delayed"))
		require.ElementsMatch(t, []string{"1", "2", "3", "4", "5"}, placed, string(kind))
		require.Len(t, reply.Jobs, 2)
	}
}

// A counter of attempts that is no number is begun anew, and does not keep the
// other jobs of the call from being settled.
func TestSettleCountsAttemptsThatAreNoNumber(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		stored := map[string]string{"a": "x", "b": "1.5", "c": "99999999999999999999", "d": "0", "e": "41", "f": "-1"}
		counted := map[string]string{"a": "1", "b": "1", "c": "1", "d": "1", "e": "42", "f": "0"}
		req := &storage.SettleRequest{Now: time.UnixMilli(settleTime), Take: len(stored), Token: "t", Worker: "w", Lock: time.Minute}
		settle := &storage.SettleRequest{Now: req.Now, Token: "u", Worker: "w", Lock: time.Minute}
		for id, atm := range stored {
			b.waiting("q", "wait", id)
			b.do("hset", "bull:q:"+id, "atm", atm)
			settle.Settle = append(settle.Settle, storage.Settlement{ID: id, Token: "t", Kind: storage.Completed, Value: []byte("1")})
		}
		require.Len(t, b.mustSettle(req).Jobs, len(stored))
		b.settleAll(settle)
		for id, want := range counted {
			require.Equal(t, want, b.hash("q", id)["atm"], stored[id])
			require.Equal(t, "1", b.hash("q", id)["returnvalue"])
		}
	})
}
