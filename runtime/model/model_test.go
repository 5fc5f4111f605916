package model

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullmq-gen/bullmq-gen/internal/audit"
	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// rounds is how often the number of calls is made that rapid makes by default,
// about 30: with few calls nothing rare happens.
const rounds = 3

// TestModel makes random calls, most of them on a Redis server and some on the
// in-process one. What goes wrong is reduced and printed with its seed; longer:
//
//	go test ./runtime/model -rapid.checks=2000
func TestModel(t *testing.T) {
	t.Parallel()
	type place struct {
		server *testredis.Server
		rdb    *redis.Client
	}
	var places []place
	for _, s := range []*testredis.Server{testredis.Any(t), testredis.Mini(t)} {
		places = append(places, place{s, s.Client(t)})
	}
	rapid.Check(t, func(t *rapid.T) {
		p := places[0]
		if rapid.IntRange(0, 9).Draw(t, "server") == 9 {
			p = places[1]
		}
		m := newMachine(t, context.Background(), p.server, p.rdb)
		defer m.close()
		actions := m.actions()
		for range rounds {
			t.Repeat(actions)
		}
	})
}

// actions are all calls, and the check after each. Those that the others need
// are drawn more often.
func (m *machine) actions() map[string]func(*rapid.T) {
	idle := func(t *rapid.T) { m.idle(t, m.anyQueue(t)) }
	all := m.operations()
	maps.Copy(all, map[string]func(*rapid.T){
		"add": m.add, "add a second": m.add, "add a third": m.add, "add a fourth": m.add, "add many": m.addMany,
		"take": m.take, "take again": m.take, "take once more": m.take, "take later": m.take,
		"finish": m.finish, "finish another": m.finish, "finish a third": m.finish, "finish a fourth": m.finish,
		"settle": m.settle, "settle more": m.settle,
		"family": m.family, "another family": m.family,
		"extend": m.extend, "vanish": m.vanish, "recover": m.recover, "recover again": m.recover,
		"wait": m.wait, "wait longer": m.wait,
		"idle": idle, "idle again": idle, "idle still": idle,
	})
	for name, action := range all {
		all[name] = func(t *rapid.T) {
			m.now++ // no two calls are made at the same time
			action(t)
		}
	}
	all[""] = m.check
	return all
}

// check compares all there is with the model, and audits the keys.
func (m *machine) check(t *rapid.T) {
	for _, name := range queueNames {
		m.checkQueue(t, m.queues[name])
	}
	var opts []audit.Option
	for name, s := range m.asleep {
		switch {
		case s.limited:
			opts = append(opts, audit.Looking(name))
		case s.until > 0:
			opts = append(opts, audit.KnowsOf(name, time.UnixMilli(s.until)))
		}
	}
	problems, err := audit.Check(m.ctx, m.rdb, "bull", opts...)
	require.NoError(t, err)
	require.Empty(t, problems)
}

func (m *machine) checkQueue(t *rapid.T, q *queue) {
	api := m.api(q)
	counts, err := api.Counts(m.ctx)
	require.NoError(t, err)
	for _, s := range states {
		want := q.list(s)
		require.Equal(t, len(want), counts[s], "%s jobs of queue %s: %v", s, q.name, want)
		if len(want) == 0 {
			continue
		}
		jobs, err := api.Jobs(m.ctx, s, 0, -1, bullmq.OldestFirst())
		require.NoError(t, err)
		ids := make([]string, len(jobs))
		for i := range jobs {
			ids[i] = jobs[i].ID
		}
		require.Equal(t, want, ids, "%s jobs of queue %s", s, q.name)
		for i := range jobs {
			m.checkJob(t, q, q.jobs[ids[i]], &jobs[i])
		}
	}
	m.checkSettings(t, q)
}

func (m *machine) checkSettings(t *rapid.T, q *queue) {
	api := m.api(q)
	meta, err := api.Meta(m.ctx)
	require.NoError(t, err)
	require.Equal(t, q.paused, meta.Paused)
	require.Equal(t, q.concurrency, meta.Concurrency)
	require.Equal(t, q.limit.Max > 0, meta.Limit != nil)
	for _, id := range []string{"x", "y"} {
		holder, err := api.DedupJobID(m.ctx, id)
		require.NoError(t, err)
		require.Equal(t, q.held[id].id, holder, "holder of %s on queue %s", id, q.name)
		ttl, err := m.rdb.PTTL(m.ctx, "bull:"+q.name+":de:"+id).Result()
		require.NoError(t, err)
		require.Equal(t, q.held[id].until > 0, ttl > 0, "holder of %s on queue %s for a time", id, q.name)
	}
	for _, s := range []bullmq.State{bullmq.StateCompleted, bullmq.StateFailed} {
		metrics, err := api.Metrics(m.ctx, s)
		require.NoError(t, err)
		require.Equal(t, q.done[s], metrics.Count, "%s jobs counted on queue %s", s, q.name)
	}
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func (m *machine) checkJob(t *rapid.T, q *queue, j *job, r *bullmq.Record) {
	type view struct {
		Timestamp, Delay, Begun, Ended              int64
		Priority, Made, Starts, Stalls              int
		By, Result, Reason, Deferred, Dedup, Parent string
	}
	want := view{
		j.timestamp, j.delay, j.begun, j.ended, j.priority, j.made, j.starts, j.stalls,
		j.by, j.result, j.reason, j.deferred, j.deid(), "",
	}
	if j.parent != "" {
		want.Parent = "bull:" + j.parent
	}
	got := view{
		millis(r.Timestamp), r.Delay.Milliseconds(), millis(r.ProcessedOn), millis(r.FinishedOn),
		r.Priority, r.AttemptsMade, r.AttemptsStarted, r.StalledCount,
		r.ProcessedBy, string(r.ReturnValue), r.FailedReason, r.Deferred, r.DedupID, r.ParentKey,
	}
	require.Equal(t, want, got, "job %s of queue %s", j.id, q.name)
	counts, err := m.api(q).DependencyCounts(m.ctx, j.id)
	require.NoError(t, err)
	require.Equal(t, bullmq.DependencyCounts{
		Pending: len(j.pending), Processed: len(j.processed), Ignored: len(j.ignored), Failed: len(j.lost),
	}, counts, "children of job %s of queue %s", j.id, q.name)
}
