package redisq

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// throughProxy runs a test with a store whose connections can be broken.
func throughProxy(t *testing.T, test func(b *bench, link *testredis.Link)) {
	t.Helper()
	for name, server := range map[string]func(testing.TB) *testredis.Server{"redis": testredis.Shared, "in-process": testredis.Mini} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := server(t)
			link := testredis.Proxy(t, srv.Addr())
			s := openOn(t, fmt.Sprintf("%s/%d", link.URL(), srv.DB()))
			test(&bench{Store: s, t: t, c: srv.Client(t), ctx: t.Context()}, link)
		})
	}
}

// state is the whole database without the time that locks last.
func (b *bench) state() vectors.Keyspace {
	b.t.Helper()
	state, err := vectors.Snapshot(b.ctx, b.c)
	require.NoError(b.t, err)
	return state
}

// loseAnswer carries out a request of which the answer is lost.
func (b *bench) loseAnswer(link *testredis.Link, req *storage.SettleRequest) {
	b.t.Helper()
	b.mustSettle(callWith("before", 0)) // the server knows the script now
	dropped := link.Dropped()
	link.DropReply(req.Token)
	_, err := b.Settle(b.ctx, "q", req)
	require.ErrorIs(b.t, err, storage.ErrUncertain)
	require.Equal(b.t, dropped+1, link.Dropped())
	req.Again = true
}

func callWith(token string, take int, settle ...storage.Settlement) *storage.SettleRequest {
	req := settleAt(take, settle...)
	req.Token = token
	return req
}

func TestSettleAgainAnswersWhatWasDone(t *testing.T) {
	t.Parallel()
	throughProxy(t, func(b *bench, link *testredis.Link) {
		b.take("c", "x", "k", "f", "r", "d", "u", "w", "p", "late", "away")
		b.waiting("q", "wait", "n1", "n2", "n3")
		b.do("sadd", "bull:q:p:dependencies", "bull:q:n1")
		b.do("set", "bull:q:late:lock", "someone")
		b.do("lrem", "bull:q:active", 1, "away")
		removed, kept, later := completed("x"), completed("k"), settledAs(storage.RetryLater, "d")
		removed.Keep.Remove, kept.Keep.Count, later.Delay = true, 5, time.Second
		until := settledAs(storage.DelayedUntil, "u")
		until.Delay = time.Hour
		req := callWith("second", 2, completed("c"), removed, kept, settledAs(storage.Failed, "f"), settledAs(storage.RetryNow, "r"), later,
			until, settledAs(storage.BackToWait, "w"), settledAs(storage.WaitForChildren, "p"), completed("late"), completed("away"))

		b.loseAnswer(link, req)
		done := b.state()
		reply := b.mustSettle(req)
		for i, st := range req.Settle[:9] {
			require.NoError(t, reply.Errs[i], st.ID)
		}
		require.ErrorIs(t, reply.Errs[9], storage.ErrLockMismatch, "it was refused the first time")
		require.ErrorIs(t, reply.Errs[10], storage.ErrLockLost, "it was refused the first time, and lost its lock")
		require.Equal(t, []string{"w", "n1"}, idsOf(reply.Jobs))
		require.Equal(t, 1, reply.Jobs[1].AttemptsStarted)
		require.Empty(t, vectors.Diff(done, b.state()), "nothing is done twice")
		require.Equal(t, reply, b.mustSettle(req), "nor a third time")
	})
}

func TestSettleAgainDoesWhatWasNotDone(t *testing.T) {
	t.Parallel()
	throughProxy(t, func(b *bench, link *testredis.Link) {
		b.take("1", "2")
		b.waiting("q", "wait", "3")
		link.Cut()
		link.Refuse(true)
		req := callWith("second", 1, completed("1"), settledAs(storage.RetryNow, "2"))
		ctx, cancel := context.WithTimeout(b.ctx, 50*time.Millisecond)
		defer cancel()
		_, err := b.Settle(ctx, "q", req)
		require.Error(t, err)
		link.Refuse(false)

		req.Again = true
		reply := b.settleAll(req)
		require.Equal(t, []string{"3"}, idsOf(reply.Jobs))
		require.Equal(t, []string{"1"}, b.set("q", "completed"))
		require.Equal(t, []string{"2"}, b.list("q", "wait"))
	})
}

// A job that the first sending took may be gone since, but for its lock.
func TestSettleAgainAfterAJobIsGone(t *testing.T) {
	t.Parallel()
	throughProxy(t, func(b *bench, link *testredis.Link) {
		b.waiting("q", "wait", "1", "2")
		req := callWith("first", 2)
		b.loseAnswer(link, req)
		b.do("del", b.key("q", "1"))
		jobs := b.settleAll(req).Jobs
		require.Equal(t, []string{"1", "2"}, idsOf(jobs))
		require.True(t, jobs[0].Missing)
		require.False(t, jobs[1].Missing)
	})
}

// What the first sending settled may have gone on since: that does not make it undone.
func TestSettleAgainAfterTheJobWentOn(t *testing.T) {
	t.Parallel()
	throughProxy(t, func(b *bench, link *testredis.Link) {
		b.take("1", "2", "3")
		req := callWith("second", 0, settledAs(storage.RetryNow, "1"), settledAs(storage.RetryNow, "2"), settledAs(storage.BackToWait, "3"))
		b.loseAnswer(link, req)

		other := callWith("other", 3)
		require.Len(t, b.mustSettle(other).Jobs, 3)
		one, two := settledAs(storage.Failed, "1"), settledAs(storage.Completed, "2")
		one.Token, one.Reason, one.Stack = "other", "worse", []byte(`["at a","at b"]`)
		two.Token, two.Value = "other", []byte("1")
		b.settleAll(callWith("third", 0, one, two))
		done := b.state()
		b.settleAll(req)
		require.Empty(t, vectors.Diff(done, b.state()))
	})
}

// A job that another worker took over and settled is not ours, whatever became of it.
func TestSettleAgainTellsALostLock(t *testing.T) {
	t.Parallel()
	throughProxy(t, func(b *bench, link *testredis.Link) {
		b.take("1", "2", "3", "4", "5")
		for _, id := range []string{"1", "2", "3", "4", "5"} {
			b.do("set", b.key("q", id+":lock"), "other")
		}
		one, two, three := completed("1"), settledAs(storage.Failed, "2"), settledAs(storage.RetryNow, "3")
		one.Token, two.Token, three.Token = "other", "other", "other"
		three.Reason, three.Stack = "else", []byte(`["at z"]`)
		req := callWith("third", 0, one, two, three)
		req.Now = req.Now.Add(5 * time.Millisecond)
		b.settleAll(req)

		five := settledAs(storage.RetryLater, "5")
		five.Stack = nil
		req = callWith("second", 0, completed("1"), settledAs(storage.Failed, "2"), settledAs(storage.RetryNow, "3"), completed("4"), five)
		b.loseAnswer(link, req)
		reply := b.mustSettle(req)
		require.ErrorIs(t, reply.Errs[0], storage.ErrLockLost)
		require.ErrorIs(t, reply.Errs[1], storage.ErrLockLost)
		require.ErrorIs(t, reply.Errs[2], storage.ErrLockLost)
		require.ErrorIs(t, reply.Errs[3], storage.ErrLockMismatch)
		require.ErrorIs(t, reply.Errs[4], storage.ErrLockMismatch)
	})
}

// A call that took fewer than it asked for took what it could: sent again it
// returns these, and takes no more. One that took none takes now.
func TestSettleAgainTakesNoMore(t *testing.T) {
	t.Parallel()
	throughProxy(t, func(b *bench, link *testredis.Link) {
		b.waiting("q", "wait", "1", "2")
		req := callWith("first", 5)
		b.loseAnswer(link, req)
		b.waiting("q", "wait", "3")
		b.do("pexpire", "bull:q:1:lock", 5000)
		require.Equal(t, []string{"1", "2"}, idsOf(b.mustSettle(req).Jobs))
		require.InDelta(t, 30000, b.do("pttl", "bull:q:1:lock"), 5000, "the lock lasts from now")
		require.Equal(t, []string{"3"}, b.list("q", "wait"))

		b.settleAll(callWith("other", 0, storage.Settlement{ID: "1", Token: "first", Kind: storage.BackToWait}))
		require.Equal(t, []string{"2"}, idsOf(b.mustSettle(req).Jobs), "what is settled since is not ours any more")

		b.do("del", "bull:q:wait")
		req = callWith("next", 1)
		b.loseAnswer(link, req)
		b.waiting("q", "wait", "4")
		require.Equal(t, []string{"4"}, idsOf(b.mustSettle(req).Jobs))
		req = callWith("0", 1)
		req.Again = true
		require.Empty(t, b.mustSettle(req).Jobs, "jobs without locks are nobody's")
	})
}
