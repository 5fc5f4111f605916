package redisq

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

// errOtherAnswer: the call was answered, and not as it is where nothing is wrong.
var errOtherAnswer = errors.New("another answer")

// isDocumented reports whether an error is one that the storage may return: it
// has a kind, or is a refusal.
func isDocumented(err error) bool {
	var refused *storage.Error
	return err == nil || storage.Kind(err) != nil || errors.As(err, &refused) || errors.Is(err, errOtherAnswer) ||
		errors.Is(err, storage.ErrScheduleEnded) || errors.Is(err, storage.ErrRunTaken) || errors.Is(err, storage.ErrOldSchedule)
}

// storageCall is a call of one method of the storage.
type storageCall struct {
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

// everyCall has at least one call of each method.
func everyCall() []storageCall {
	var all []storageCall
	for _, of := range [][]storageCall{addCalls(), workCalls(), queueCalls(), jobCalls(), scheduleCalls(), eventCalls(), readCalls()} {
		all = append(all, of...)
	}
	return all
}

var sceneTime = time.UnixMilli(settleTime)

func addCalls() []storageCall {
	job := func(id string) storage.NewJob {
		return storage.NewJob{ID: id, Name: "n", Data: []byte("{}"), Opts: []byte("{}"), Timestamp: sceneTime}
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
	return []storageCall{
		{method: "Announce", effect: sets, call: func(ctx context.Context, s *Store) error { return s.Announce(ctx, "q", "v", 500) }},
		{method: "Qualify", effect: asksNone, call: func(_ context.Context, s *Store) error { s.Qualify("q"); return nil }},
		{method: "Usable", effect: asksNone, call: func(_ context.Context, s *Store) error { return s.Usable("q") }},
		{method: "Add", effect: appends, call: add(job(""), job(""))},
		{method: "Add", effect: writes, call: add(job("x"), job("y"))},
		{method: "Add", effect: writes, call: add(held)},
		{method: "Add", effect: writes, call: add(child)},
		{method: "Add", effect: writes, call: add(many...)},
		{method: "AddFlow", effect: writes, call: func(ctx context.Context, s *Store) error {
			return dropFirst(s.AddFlow(ctx, sceneTime, []storage.FlowNode{{Queue: "bull:q", NewJob: root}, {Queue: "bull:q", NewJob: leaf}}))
		}},
	}
}

func workCalls() []storageCall {
	settle := func(again bool, kinds ...storage.SettleKind) func(context.Context, *Store) error {
		return func(ctx context.Context, s *Store) error {
			req := callWith("second", 2)
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
				return fmt.Errorf("%w: no job was taken", errOtherAnswer)
			}
			return nil
		}
	}
	var calls []storageCall
	for _, kinds := range [][]storage.SettleKind{
		nil, {storage.Completed}, {storage.Completed, storage.Completed},
		{storage.Failed}, {storage.RetryNow}, {storage.RetryLater}, {storage.DelayedUntil}, {storage.BackToWait},
		{storage.Completed, storage.Failed, storage.RetryNow, storage.RetryLater},
	} {
		calls = append(calls, storageCall{method: "Settle", effect: writes, call: settle(false, kinds...), again: settle(true, kinds...)})
	}
	return append(calls, []storageCall{
		{method: "NewWaiter", effect: asksNone, call: func(_ context.Context, s *Store) error { return s.NewWaiter("q", "w").Close() }},
		{method: "Waiter.Close", effect: asksNone, call: func(_ context.Context, s *Store) error { return s.NewWaiter("q", "w").Close() }},
		{method: "Waiter.Wait", effect: blocks, call: func(ctx context.Context, s *Store) error {
			w := s.NewWaiter("q", "w")
			defer func() { _ = w.Close() }()
			return dropFirst(w.Wait(ctx, time.Hour))
		}, before: func(b *bench) { b.do("zadd", "bull:q:marker", "0", "0") }},
		{method: "Admit", effect: writes, call: func(ctx context.Context, s *Store) error {
			return dropFirst(s.Admit(ctx, "q", sceneTime, storage.RateLimit{Max: 1, Per: time.Hour}, []storage.Grouped{{ID: "busy0", Group: "full"}}))
		}, before: func(b *bench) {
			_, err := b.Admit(b.ctx, "q", sceneTime, storage.RateLimit{Max: 1, Per: time.Hour}, []storage.Grouped{{ID: "busy1", Group: "full"}})
			require.NoError(b.t, err)
		}},
		{method: "Wake", effect: writes, call: func(ctx context.Context, s *Store) error { return s.Wake(ctx, "q") }},
		{method: "Renew", effect: writes, call: func(ctx context.Context, s *Store) error {
			lost, err := s.Renew(ctx, "q", []storage.Lock{{ID: "busy0", Token: "tok"}}, time.Hour)
			if len(lost) > 0 {
				return fmt.Errorf("%w: lost %v", errOtherAnswer, lost)
			}
			return err
		}},
		{method: "KeepStep", effect: writes, call: func(ctx context.Context, s *Store) error {
			return s.KeepStep(ctx, "q", storage.Lock{ID: "busy0", Token: "tok"}, "charge", []byte("7"))
		}},
		{method: "RecoverStalled", effect: writes, call: func(ctx context.Context, s *Store) error {
			return dropFirst(s.RecoverStalled(ctx, "q", storage.StalledRequest{Now: sceneTime, Interval: time.Hour, MaxStalled: 1}))
		}, before: func(b *bench) {
			b.do("del", "bull:q:busy0:lock")
			b.do("sadd", "bull:q:stalled", "busy0")
		}},
	}...)
}

func queueCalls() []storageCall {
	paused := func(b *bench) { require.NoError(b.t, b.Pause(b.ctx, "q")) }
	return []storageCall{
		{method: "Pause", effect: writes, call: func(ctx context.Context, s *Store) error { return s.Pause(ctx, "q") }},
		{method: "Resume", effect: writes, before: paused, call: func(ctx context.Context, s *Store) error { return s.Resume(ctx, "q") }},
		{method: "Drain", effect: writes, call: func(ctx context.Context, s *Store) error { return s.Drain(ctx, "q", true) }},
		{method: "Clean", effect: writes, call: func(ctx context.Context, s *Store) error {
			return dropFirst(s.Clean(ctx, "q", storage.StateWaiting, sceneTime, 0))
		}},
		{method: "Clean", effect: writes, call: func(ctx context.Context, s *Store) error {
			return dropFirst(s.Clean(ctx, "q", storage.StateCompleted, sceneTime.Add(time.Hour), 0))
		}},
		{method: "Obliterate", effect: writes, before: paused, done: storage.ErrNotPaused, call: func(ctx context.Context, s *Store) error {
			return s.Obliterate(ctx, "q", true, 3)
		}},
		{method: "RetryAll", effect: writes, call: func(ctx context.Context, s *Store) error {
			return s.RetryAll(ctx, "q", storage.StateFailed, sceneTime.Add(time.Hour), 1)
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

func jobCalls() []storageCall {
	return []storageCall{
		{method: "Retry", effect: writes, done: storage.ErrNotInState, call: func(ctx context.Context, s *Store) error {
			return s.Retry(ctx, "q", "bad", storage.RetryRequest{State: storage.StateFailed})
		}},
		{method: "Promote", effect: writes, done: storage.ErrNotInState, call: func(ctx context.Context, s *Store) error { return s.Promote(ctx, "q", "later") }},
		{method: "ChangeDelay", effect: writes, call: func(ctx context.Context, s *Store) error {
			return s.ChangeDelay(ctx, "q", "later", sceneTime, time.Minute)
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

func scheduleCalls() []storageCall {
	rule := storage.ScheduleRule{Every: time.Minute}
	return []storageCall{
		{method: "UpsertSchedules", effect: writes, call: func(ctx context.Context, s *Store) error {
			return dropFirst(s.UpsertSchedules(ctx, "q", sceneTime, []storage.Schedule{
				{ID: "new", ScheduleRule: rule, Owner: "me", Job: storage.Iteration{Name: "n", Opts: []byte("{}")}},
				{ID: "s", ScheduleRule: storage.ScheduleRule{Every: time.Hour}, Job: storage.Iteration{Name: "n", Opts: []byte("{}")}},
			}))
		}},
		{method: "AdvanceSchedules", effect: writes, call: func(ctx context.Context, s *Store) error {
			return dropFirst(s.AdvanceSchedules(ctx, "q", sceneTime, []storage.Advance{{ID: "s", Job: fmt.Sprint("repeat:s:", settleTime), Next: storage.Iteration{Opts: []byte("{}")}}}))
		}},
		{method: "RemoveSchedules", effect: writes, call: func(ctx context.Context, s *Store) error { return dropFirst(s.RemoveSchedules(ctx, "q", "s")) }},
		{method: "PruneSchedules", effect: writes, call: func(ctx context.Context, s *Store) error { return dropFirst(s.PruneSchedules(ctx, "q", "me", nil)) }},
		{method: "OwnedQueues", effect: reads, call: func(ctx context.Context, s *Store) error { return dropFirst(s.OwnedQueues(ctx, "me")) }},
		{method: "Schedules", effect: reads, call: func(ctx context.Context, s *Store) error { return dropFirst(s.Schedules(ctx, "q", "s")) }},
		{method: "ListSchedules", effect: reads, call: func(ctx context.Context, s *Store) error { return dropFirst(s.ListSchedules(ctx, "q", 0, -1, true)) }},
		{method: "CountSchedules", effect: reads, call: func(ctx context.Context, s *Store) error { return dropFirst(s.CountSchedules(ctx, "q")) }},
	}
}

func eventCalls() []storageCall {
	return []storageCall{
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

func readCalls() []storageCall {
	waiting := storage.StateWaiting
	of := func(method string, call func(context.Context, *Store) error) storageCall {
		return storageCall{method: method, effect: reads, call: call}
	}
	return []storageCall{
		of("Jobs", func(ctx context.Context, s *Store) error { return dropFirst(s.Jobs(ctx, "q", "a", "b")) }),
		of("State", func(ctx context.Context, s *Store) error { return dropFirst(s.State(ctx, "q", "a")) }),
		of("Finish", func(ctx context.Context, s *Store) error { return dropFirst(s.Finish(ctx, "q", "ok")) }),
		of("Counts", func(ctx context.Context, s *Store) error { return dropFirst(s.Counts(ctx, "q", storage.States...)) }),
		of("CountsByPriority", func(ctx context.Context, s *Store) error { return dropFirst(s.CountsByPriority(ctx, "q", 0, 5)) }),
		of("DelayedBefore", func(ctx context.Context, s *Store) error { return dropFirst(s.DelayedBefore(ctx, "q", sceneTime)) }),
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

// begin lays out what a call is about in an empty database.
func (b *bench) begin(c storageCall) {
	b.t.Helper()
	require.NoError(b.t, b.c.FlushDB(b.ctx).Err())
	b.sceneOfAllStates()
	if c.before != nil {
		c.before(b)
	}
}

// sceneOfAllStates lays out a queue with jobs in all states.
func (b *bench) sceneOfAllStates() {
	b.t.Helper()
	b.take("busy0", "busy1", "busy2", "busy3", "done0")
	b.settleAll(settleAt(0, completed("done0")))
	b.waiting("q", "wait", "a", "b", "c", "C")
	b.do("set", "bull:q:id", "100")
	b.do("rpush", "bull:q:a:logs", "1", "2")
	_, err := b.Add(b.ctx, "q", []storage.NewJob{
		{ID: "holder", Name: "n", Data: []byte("{}"), Opts: []byte("{}"), Timestamp: sceneTime, Dedup: &storage.Dedup{ID: "held"}},
		{ID: "later", Name: "n", Data: []byte("{}"), Opts: []byte("{}"), Timestamp: sceneTime, Delay: time.Hour},
		{ID: "urgent", Name: "n", Data: []byte("{}"), Opts: []byte("{}"), Timestamp: sceneTime, Priority: 5},
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
	_, err = b.UpsertSchedules(b.ctx, "q", sceneTime, []storage.Schedule{
		{ID: "s", ScheduleRule: storage.ScheduleRule{Every: time.Minute}, Owner: "me", Job: storage.Iteration{Name: "n", Opts: []byte("{}")}},
	})
	require.NoError(b.t, err)
}

// A new method needs a call, so that lost answers and hostile data are tried with it.
func TestEveryMethodOfTheStorageHasACall(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	for _, c := range everyCall() {
		tried[c.method] = true
	}
	for name, of := range map[string]reflect.Type{"": reflect.TypeFor[storage.Storage](), "Waiter.": reflect.TypeFor[storage.Waiter]()} {
		for i := range of.NumMethod() {
			require.True(t, tried[name+of.Method(i).Name], "%s%s has no call in everyCall: add one", name, of.Method(i).Name)
		}
	}
}
