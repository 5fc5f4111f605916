package redisq

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/audit"
	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// effect is what a call of the storage does to the data, and so what its caller
// may learn when an answer of it is lost.
type effect int

const (
	asksNone effect = iota // it asks no server
	reads                  // the storage asks again by itself
	blocks                 // it reads and waits: its caller asks again
	sets                   // it writes what a second call writes again: the storage may repeat it
	writes                 // its caller learns that it may have been done, and calls again
	appends                // as writes, but a second call is a second thing: it has no id
)

// lossy is a call of one method of the storage.
type lossy struct {
	method string
	effect effect
	// before lays out what the call is about.
	before func(b *bench)
	call   func(ctx context.Context, s *Store) error
	// again is the call that follows a lost answer; nil: the same one.
	again func(ctx context.Context, s *Store) error
	// done is what the storage may refuse the second call with, since the first one was carried out.
	done error
}

// lossyCalls has at least one call of each method.
func lossyCalls() []lossy {
	var all []lossy
	for _, of := range [][]lossy{lossyAdds(), lossyWork(), lossyQueueChanges(), lossyJobChanges(), lossySchedules(), lossyEvents(), lossyReads()} {
		all = append(all, of...)
	}
	return all
}

var lossyNow = time.UnixMilli(settleTime)

func lossyAdds() []lossy {
	job := func(id string) storage.NewJob {
		return storage.NewJob{ID: id, Name: "n", Data: []byte("{}"), Opts: []byte("{}"), Timestamp: lossyNow}
	}
	add := func(jobs ...storage.NewJob) func(context.Context, *Store) error {
		return func(ctx context.Context, s *Store) error { return dropFirst(s.Add(ctx, "q", jobs)) }
	}
	held, child := job("fresh"), job("child")
	held.Dedup = &storage.Dedup{ID: "fresh"}
	child.Parent = &storage.Parent{ID: "P", Queue: "bull:q", OnFail: storage.OnFailFail}
	var many []storage.NewJob
	for i := range 3*addJobs + 7 {
		many = append(many, job(fmt.Sprint("many", i)))
	}
	root, leaf := job("root"), job("leaf")
	leaf.Parent = &storage.Parent{ID: "root", Queue: "bull:q"}
	return []lossy{
		{method: "Announce", effect: sets, call: func(ctx context.Context, s *Store) error { return s.Announce(ctx, "q", "v", 500) }},
		{method: "Qualify", effect: asksNone, call: func(_ context.Context, s *Store) error { s.Qualify("q"); return nil }},
		{method: "Usable", effect: asksNone, call: func(_ context.Context, s *Store) error { return s.Usable("q") }},
		{method: "Add", effect: appends, call: add(job(""), job(""))},
		{method: "Add", effect: writes, call: add(job("x"), job("y"))},
		{method: "Add", effect: writes, call: add(held)},
		{method: "Add", effect: writes, call: add(child)},
		{method: "Add", effect: writes, call: add(many...)},
		{method: "AddFlow", effect: writes, call: func(ctx context.Context, s *Store) error {
			return dropFirst(s.AddFlow(ctx, lossyNow, []storage.FlowNode{{Queue: "bull:q", NewJob: root}, {Queue: "bull:q", NewJob: leaf}}))
		}},
	}
}

func lossyWork() []lossy {
	settle := func(again bool, kinds ...storage.SettleKind) func(context.Context, *Store) error {
		return func(ctx context.Context, s *Store) error {
			req := callWith("lossy", 2)
			for i, kind := range kinds {
				st := settledAs(kind, fmt.Sprint("busy", i))
				st.Value = []byte("1")
				req.Settle = append(req.Settle, st)
			}
			req.Again = again
			reply, err := s.Settle(ctx, "q", req)
			if err != nil {
				return err
			}
			for _, refused := range reply.Errs {
				if refused != nil {
					return refused
				}
			}
			if len(reply.Jobs) == 0 {
				return fmt.Errorf("no job was taken")
			}
			return nil
		}
	}
	var calls []lossy
	for _, kinds := range [][]storage.SettleKind{
		nil, {storage.Completed}, {storage.Completed, storage.Completed},
		{storage.Failed}, {storage.RetryNow}, {storage.RetryLater}, {storage.DelayedUntil}, {storage.BackToWait},
		{storage.Completed, storage.Failed, storage.RetryNow, storage.RetryLater},
	} {
		calls = append(calls, lossy{method: "Settle", effect: writes, call: settle(false, kinds...), again: settle(true, kinds...)})
	}
	return append(calls, []lossy{
		{method: "NewWaiter", effect: asksNone, call: func(_ context.Context, s *Store) error { return s.NewWaiter("q", "w").Close() }},
		{method: "Waiter.Close", effect: asksNone, call: func(_ context.Context, s *Store) error { return s.NewWaiter("q", "w").Close() }},
		{method: "Waiter.Wait", effect: blocks, call: func(ctx context.Context, s *Store) error {
			w := s.NewWaiter("q", "w")
			defer func() { _ = w.Close() }()
			return dropFirst(w.Wait(ctx, time.Hour))
		}, before: func(b *bench) { b.do("zadd", "bull:q:marker", "0", "0") }},
		{method: "Admit", effect: writes, call: func(ctx context.Context, s *Store) error {
			return dropFirst(s.Admit(ctx, "q", lossyNow, storage.RateLimit{Max: 1, Per: time.Hour}, []storage.Grouped{{ID: "busy0", Group: "full"}}))
		}, before: func(b *bench) {
			_, err := b.Admit(b.ctx, "q", lossyNow, storage.RateLimit{Max: 1, Per: time.Hour}, []storage.Grouped{{ID: "busy1", Group: "full"}})
			require.NoError(b.t, err)
		}},
		{method: "Wake", effect: writes, call: func(ctx context.Context, s *Store) error { return s.Wake(ctx, "q") }},
		{method: "Renew", effect: writes, call: func(ctx context.Context, s *Store) error {
			lost, err := s.Renew(ctx, "q", []storage.Lock{{ID: "busy0", Token: "tok"}}, time.Hour)
			if len(lost) > 0 {
				return fmt.Errorf("lost %v", lost)
			}
			return err
		}},
		{method: "KeepStep", effect: writes, call: func(ctx context.Context, s *Store) error {
			return s.KeepStep(ctx, "q", storage.Lock{ID: "busy0", Token: "tok"}, "charge", []byte("7"))
		}},
		{method: "RecoverStalled", effect: writes, call: func(ctx context.Context, s *Store) error {
			return dropFirst(s.RecoverStalled(ctx, "q", storage.StalledRequest{Now: lossyNow, Interval: time.Hour, MaxStalled: 1}))
		}, before: func(b *bench) {
			b.do("del", "bull:q:busy0:lock")
			b.do("sadd", "bull:q:stalled", "busy0")
		}},
	}...)
}

func lossyQueueChanges() []lossy {
	paused := func(b *bench) { require.NoError(b.t, b.Pause(b.ctx, "q")) }
	return []lossy{
		{method: "Pause", effect: writes, call: func(ctx context.Context, s *Store) error { return s.Pause(ctx, "q") }},
		{method: "Resume", effect: writes, before: paused, call: func(ctx context.Context, s *Store) error { return s.Resume(ctx, "q") }},
		{method: "Drain", effect: writes, call: func(ctx context.Context, s *Store) error { return s.Drain(ctx, "q", true) }},
		{method: "Clean", effect: writes, call: func(ctx context.Context, s *Store) error {
			return dropFirst(s.Clean(ctx, "q", storage.StateWaiting, lossyNow, 0))
		}},
		{method: "Clean", effect: writes, call: func(ctx context.Context, s *Store) error {
			return dropFirst(s.Clean(ctx, "q", storage.StateCompleted, lossyNow.Add(time.Hour), 0))
		}},
		{method: "Obliterate", effect: writes, before: paused, done: storage.ErrNotPaused, call: func(ctx context.Context, s *Store) error {
			return s.Obliterate(ctx, "q", true, 3)
		}},
		{method: "RetryAll", effect: writes, call: func(ctx context.Context, s *Store) error {
			return s.RetryAll(ctx, "q", storage.StateFailed, lossyNow.Add(time.Hour), 1)
		}},
		{method: "PromoteAll", effect: writes, call: func(ctx context.Context, s *Store) error { return s.PromoteAll(ctx, "q", 1) }},
		{method: "RemoveOrphans", effect: writes, before: func(b *bench) { b.job("q", "orphan") }, call: func(ctx context.Context, s *Store) error {
			return dropFirst(s.RemoveOrphans(ctx, "q", 0, 0))
		}},
		{method: "RemoveDedupKey", effect: writes, call: func(ctx context.Context, s *Store) error { return dropFirst(s.RemoveDedupKey(ctx, "q", "held", "")) }},
		{method: "RemoveDedupKey", effect: writes, call: func(ctx context.Context, s *Store) error {
			return dropFirst(s.RemoveDedupKey(ctx, "q", "held", "holder"))
		}},
		{method: "SetGlobalConcurrency", effect: writes, call: func(ctx context.Context, s *Store) error { return s.SetGlobalConcurrency(ctx, "q", 7) }},
		{method: "SetGlobalRateLimit", effect: writes, call: func(ctx context.Context, s *Store) error {
			return s.SetGlobalRateLimit(ctx, "q", &storage.RateLimit{Max: 3, Per: time.Second})
		}},
		{method: "RateLimit", effect: writes, call: func(ctx context.Context, s *Store) error { return s.RateLimit(ctx, "q", time.Hour) }},
	}
}

func lossyJobChanges() []lossy {
	return []lossy{
		{method: "Retry", effect: writes, done: storage.ErrNotInState, call: func(ctx context.Context, s *Store) error {
			return s.Retry(ctx, "q", "bad", storage.RetryRequest{State: storage.StateFailed})
		}},
		{method: "Promote", effect: writes, done: storage.ErrNotInState, call: func(ctx context.Context, s *Store) error { return s.Promote(ctx, "q", "later") }},
		{method: "ChangeDelay", effect: writes, call: func(ctx context.Context, s *Store) error {
			return s.ChangeDelay(ctx, "q", "later", lossyNow, time.Minute)
		}},
		{method: "ChangePriority", effect: writes, call: func(ctx context.Context, s *Store) error { return s.ChangePriority(ctx, "q", "a", 9, false) }},
		{method: "ChangePriority", effect: writes, call: func(ctx context.Context, s *Store) error { return s.ChangePriority(ctx, "q", "a", 0, true) }},
		{method: "UpdateData", effect: writes, call: func(ctx context.Context, s *Store) error { return s.UpdateData(ctx, "q", "a", []byte(`[1]`)) }},
		{method: "UpdateProgress", effect: writes, call: func(ctx context.Context, s *Store) error { return s.UpdateProgress(ctx, "q", "a", []byte(`1`)) }},
		{method: "AddLog", effect: appends, call: func(ctx context.Context, s *Store) error { return dropFirst(s.AddLog(ctx, "q", "a", "line", 0)) }},
		{method: "ClearLogs", effect: writes, call: func(ctx context.Context, s *Store) error { return s.ClearLogs(ctx, "q", "a", 0) }},
		{method: "Remove", effect: writes, call: func(ctx context.Context, s *Store) error { return s.Remove(ctx, "q", "P", true) }},
		{method: "RemovePendingChildren", effect: writes, call: func(ctx context.Context, s *Store) error { return s.RemovePendingChildren(ctx, "q", "P") }},
		{method: "RemoveChildDependency", effect: writes, call: func(ctx context.Context, s *Store) error { return dropFirst(s.RemoveChildDependency(ctx, "q", "C")) }},
	}
}

func lossySchedules() []lossy {
	rule := storage.ScheduleRule{Every: time.Minute}
	return []lossy{
		{method: "UpsertSchedules", effect: writes, call: func(ctx context.Context, s *Store) error {
			return dropFirst(s.UpsertSchedules(ctx, "q", lossyNow, []storage.Schedule{
				{ID: "new", ScheduleRule: rule, Owner: "me", Job: storage.Iteration{Name: "n", Opts: []byte("{}")}},
				{ID: "s", ScheduleRule: storage.ScheduleRule{Every: time.Hour}, Job: storage.Iteration{Name: "n", Opts: []byte("{}")}},
			}))
		}},
		{method: "AdvanceSchedules", effect: writes, call: func(ctx context.Context, s *Store) error {
			return dropFirst(s.AdvanceSchedules(ctx, "q", lossyNow, []storage.Advance{{ID: "s", Job: fmt.Sprint("repeat:s:", settleTime), Next: storage.Iteration{Opts: []byte("{}")}}}))
		}},
		{method: "RemoveSchedules", effect: writes, call: func(ctx context.Context, s *Store) error { return dropFirst(s.RemoveSchedules(ctx, "q", "s")) }},
		{method: "PruneSchedules", effect: writes, call: func(ctx context.Context, s *Store) error { return dropFirst(s.PruneSchedules(ctx, "q", "me", nil)) }},
		{method: "OwnedQueues", effect: reads, call: func(ctx context.Context, s *Store) error { return dropFirst(s.OwnedQueues(ctx, "me")) }},
		{method: "Schedules", effect: reads, call: func(ctx context.Context, s *Store) error { return dropFirst(s.Schedules(ctx, "q", "s")) }},
		{method: "ListSchedules", effect: reads, call: func(ctx context.Context, s *Store) error { return dropFirst(s.ListSchedules(ctx, "q", 0, -1, true)) }},
		{method: "CountSchedules", effect: reads, call: func(ctx context.Context, s *Store) error { return dropFirst(s.CountSchedules(ctx, "q")) }},
	}
}

func lossyEvents() []lossy {
	return []lossy{
		{method: "LastEvent", effect: reads, call: func(ctx context.Context, s *Store) error { return dropFirst(s.LastEvent(ctx, "q")) }},
		{method: "ReadEvents", effect: reads, call: func(ctx context.Context, s *Store) error { return dropFirst(s.ReadEvents(ctx, "q", "", 0)) }},
		{method: "ReadEvents", effect: blocks, call: func(ctx context.Context, s *Store) error { return dropFirst(s.ReadEvents(ctx, "q", "", time.Hour)) }},
		{method: "EventKept", effect: reads, call: func(ctx context.Context, s *Store) error { return dropFirst(s.EventKept(ctx, "q", "1-1")) }},
		{method: "TrimEvents", effect: writes, call: func(ctx context.Context, s *Store) error { return dropFirst(s.TrimEvents(ctx, "q", 0)) }},
		{method: "Publish", effect: appends, call: func(ctx context.Context, s *Store) error { return s.Publish(ctx, "q", "e", 0) }},
		{method: "Cancel", effect: sets, call: func(ctx context.Context, s *Store) error { return s.Cancel(ctx, "q", "busy0") }},
		{method: "Cancelled", effect: reads, call: func(ctx context.Context, s *Store) error { return dropSecond(s.Cancelled(ctx, "q", "", time.Hour)) }},
		{method: "Cancelled", effect: blocks, before: func(b *bench) { require.NoError(b.t, b.Cancel(b.ctx, "q", "busy0")) }, call: func(ctx context.Context, s *Store) error {
			return dropSecond(s.Cancelled(ctx, "q", "0-0", time.Hour))
		}},
	}
}

func lossyReads() []lossy {
	waiting := storage.StateWaiting
	of := func(method string, call func(context.Context, *Store) error) lossy {
		return lossy{method: method, effect: reads, call: call}
	}
	return []lossy{
		of("Jobs", func(ctx context.Context, s *Store) error { return dropFirst(s.Jobs(ctx, "q", "a", "b")) }),
		of("State", func(ctx context.Context, s *Store) error { return dropFirst(s.State(ctx, "q", "a")) }),
		of("Finish", func(ctx context.Context, s *Store) error { return dropFirst(s.Finish(ctx, "q", "ok")) }),
		of("Counts", func(ctx context.Context, s *Store) error { return dropFirst(s.Counts(ctx, "q", storage.States...)) }),
		of("CountsByPriority", func(ctx context.Context, s *Store) error { return dropFirst(s.CountsByPriority(ctx, "q", 0, 5)) }),
		of("DelayedBefore", func(ctx context.Context, s *Store) error { return dropFirst(s.DelayedBefore(ctx, "q", lossyNow)) }),
		of("List", func(ctx context.Context, s *Store) error { return dropFirst(s.List(ctx, "q", waiting, 0, -1, true)) }),
		of("ListJobs", func(ctx context.Context, s *Store) error {
			return dropFirst(s.ListJobs(ctx, "q", []storage.State{waiting}, 0, -1, true))
		}),
		of("DependencyCounts", func(ctx context.Context, s *Store) error { return dropFirst(s.DependencyCounts(ctx, "q", "P")) }),
		of("Dependencies", func(ctx context.Context, s *Store) error {
			return dropSecond(s.Dependencies(ctx, "q", "P", storage.DependencyPending, 0, 10))
		}),
		of("Logs", func(ctx context.Context, s *Store) error { return dropSecond(s.Logs(ctx, "q", "a", 0, -1, true)) }),
		of("Metrics", func(ctx context.Context, s *Store) error {
			return dropFirst(s.Metrics(ctx, "q", storage.StateFailed, 0, -1))
		}),
		of("Workers", func(ctx context.Context, s *Store) error { return dropFirst(s.Workers(ctx, "q")) }),
		of("Meta", func(ctx context.Context, s *Store) error { return dropFirst(s.Meta(ctx, "q")) }),
		of("RateLimitTTL", func(ctx context.Context, s *Store) error { return dropFirst(s.RateLimitTTL(ctx, "q", 1)) }),
		of("DedupJobID", func(ctx context.Context, s *Store) error { return dropFirst(s.DedupJobID(ctx, "q", "held")) }),
		of("ReadFlow", func(ctx context.Context, s *Store) error { return dropFirst(s.ReadFlow(ctx, -1, "bull:q:P")) }),
		of("Children", func(ctx context.Context, s *Store) error { return dropFirst(s.Children(ctx, "bull:q:P")) }),
		of("Names", func(ctx context.Context, s *Store) error { return dropFirst(s.Names(ctx, "bull:q:a", "bull:q:b")) }),
		of("Ping", func(ctx context.Context, s *Store) error { return s.Ping(ctx) }),
		{method: "Close", effect: asksNone, call: func(_ context.Context, s *Store) error { return s.Close() }},
	}
}

func dropFirst(_ any, err error) error     { return err }
func dropSecond(_, _ any, err error) error { return err }

// lossyScene lays out a queue with jobs in all states.
func lossyScene(b *bench) {
	b.take("busy0", "busy1", "busy2", "busy3", "done0")
	b.settleAll(settleAt(0, completed("done0")))
	b.waiting("q", "wait", "a", "b", "c", "C")
	b.do("set", "bull:q:id", "100")
	b.do("rpush", "bull:q:a:logs", "1", "2")
	_, err := b.Add(b.ctx, "q", []storage.NewJob{
		{ID: "holder", Name: "n", Data: []byte("{}"), Opts: []byte("{}"), Timestamp: lossyNow, Dedup: &storage.Dedup{ID: "held"}},
		{ID: "later", Name: "n", Data: []byte("{}"), Opts: []byte("{}"), Timestamp: lossyNow, Delay: time.Hour},
		{ID: "urgent", Name: "n", Data: []byte("{}"), Opts: []byte("{}"), Timestamp: lossyNow, Priority: 5},
	})
	require.NoError(b.t, err)
	for _, id := range []string{"ok", "ok2"} {
		b.in("q", "completed", id, settleTime, "finishedOn", settleTime, "processedOn", settleTime, "returnvalue", "1", "atm", "1", "ats", "1")
	}
	for _, id := range []string{"bad", "bad2"} {
		b.in("q", "failed", id, settleTime, "finishedOn", settleTime, "processedOn", settleTime, "failedReason", "no", "atm", "1", "ats", "1")
	}
	b.in("q", "waiting-children", "P", settleTime)
	b.childOf("bull:q:P", "bull:q:C")
	b.do("hset", "bull:q:C", "parent", `{"id":"P","queueKey":"bull:q"}`)
	_, err = b.UpsertSchedules(b.ctx, "q", lossyNow, []storage.Schedule{
		{ID: "s", ScheduleRule: storage.ScheduleRule{Every: time.Minute}, Owner: "me", Job: storage.Iteration{Name: "n", Opts: []byte("{}")}},
	})
	require.NoError(b.t, err)
}

// lossyKeyspace is what a database holds, without what a repeated call may write
// once more: numbers that were given to no job, events, and the word to cancel,
// which is as good twice as once.
func (b *bench) lossyKeyspace() vectors.Keyspace {
	state := b.state()
	for key, e := range state {
		if e.Type == "stream" || strings.HasSuffix(key, ":id") || strings.HasSuffix(key, ":pc") || strings.HasSuffix(key, ":marker") {
			delete(state, key)
			continue
		}
		for i := range e.Sorted { // a job that is placed twice stands behind those of the same time or priority
			switch {
			case strings.HasSuffix(key, ":delayed"):
				e.Sorted[i].Score = math.Floor(e.Sorted[i].Score / 4096)
			case strings.HasSuffix(key, ":prioritized"):
				e.Sorted[i].Score = math.Floor(e.Sorted[i].Score / (1 << 32))
			}
		}
		if e.TTL != nil {
			e.TTL = new(int64) // how long is a matter of this machine's speed
			state[key] = e
		}
	}
	return state
}

// Every method of the storage has a call that loses each of its answers.
func TestEveryMethodOfTheStorageIsTriedWithLostAnswers(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	for _, c := range lossyCalls() {
		tried[c.method] = true
	}
	for name, of := range map[string]reflect.Type{"": reflect.TypeFor[storage.Storage](), "Waiter.": reflect.TypeFor[storage.Waiter]()} {
		for i := range of.NumMethod() {
			require.True(t, tried[name+of.Method(i).Name], "%s%s has no call in lossyCalls: add one", name, of.Method(i).Name)
		}
	}
}

// A server that carries out a request, and whose answer is lost, leaves nothing
// doubled and nothing lost: whichever request of a call it was, its caller learns
// of what may have been written, and the same call again ends as if it was made once.
func TestALostAnswerNeitherDoublesNorLosesAnything(t *testing.T) {
	t.Parallel()
	for i, c := range lossyCalls() {
		t.Run(fmt.Sprint(c.method, i), func(t *testing.T) {
			throughProxy(t, func(b *bench, link *testredis.Link) { loseEach(b, link, c) })
		})
	}
}

// loseEach loses each answer of a call in turn.
func loseEach(b *bench, link *testredis.Link, c lossy) {
	b.now = func() time.Time { return lossyNow }
	direct := &bench{Store: b.direct(), t: b.t, c: b.c, ctx: b.ctx}
	begin := func() *Store {
		require.NoError(b.t, b.c.FlushDB(b.ctx).Err())
		lossyScene(direct)
		if c.before != nil {
			c.before(direct)
		}
		s, err := New(redis.NewClient(&redis.Options{Addr: link.Addr(), DB: b.c.Options().DB, MaxRetries: -1, Protocol: 2, DisableIdentity: true, ContextTimeoutEnabled: true}), Clock(b.now))
		require.NoError(b.t, err)
		require.NoError(b.t, s.Ping(b.ctx))
		s.addKnown.Store(true)
		s.owned = true
		b.t.Cleanup(func() { _ = s.Close() })
		return s
	}
	require.NoError(b.t, c.call(b.ctx, begin())) // the server knows all scripts now
	s := begin()
	asked := link.Requests()
	require.NoError(b.t, c.call(b.ctx, s))
	requests := link.Requests() - asked
	want := b.lossyKeyspace()
	require.Empty(b.t, audit.Keyspace(b.state(), "bull", audit.Looking("q")))
	if c.effect == asksNone {
		require.Zero(b.t, requests)
		return
	}
	require.NotZero(b.t, requests)
	uncertain := false
	for nth := 1; nth <= requests; nth++ {
		s := begin()
		dropped := link.Dropped()
		link.DropNthReply(nth)
		err := c.call(b.ctx, s)
		require.Equal(b.t, dropped+1, link.Dropped(), "answer %d of %d", nth, requests)
		switch c.effect {
		case reads, sets:
			require.NoError(b.t, err, "answer %d of %d: the storage asks again", nth, requests)
		case blocks:
			if err != nil {
				require.ErrorIs(b.t, err, storage.ErrUnavailable)
				require.NotErrorIs(b.t, err, storage.ErrUncertain)
				if c.method == "Waiter.Wait" {
					continue // the marker may be taken away: its caller looks for jobs at once
				}
				require.NoError(b.t, c.call(b.ctx, s))
			}
		case writes, appends:
			if err == nil {
				break // it was lost while nothing was written yet
			}
			require.ErrorIs(b.t, err, storage.ErrUncertain, "answer %d of %d", nth, requests)
			uncertain = true
			if c.effect == appends {
				break
			}
			again := c.again
			if again == nil {
				again = c.call
			}
			if err := again(b.ctx, s); err != nil {
				require.NotNil(b.t, c.done, "answer %d of %d: %v", nth, requests, err)
				require.ErrorIs(b.t, err, c.done, "answer %d of %d", nth, requests)
			}
		}
		require.Empty(b.t, vectors.Diff(want, b.lossyKeyspace()), "answer %d of %d", nth, requests)
		require.Empty(b.t, audit.Keyspace(b.state(), "bull", audit.Looking("q")), "answer %d of %d", nth, requests)
	}
	require.Equal(b.t, c.effect == writes || c.effect == appends, uncertain, "a caller learns that something may be written")
}

// direct is a store that asks the server without the proxy.
func (b *bench) direct() *Store {
	s, err := New(b.c, Clock(b.now))
	require.NoError(b.t, err)
	return s
}
