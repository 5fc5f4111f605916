package bullmq

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/audit"
	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
	inuse "github.com/bullmq-gen/bullmq-gen/runtime/redisq/audit"
	"github.com/bullmq-gen/bullmq-gen/scripts"
)

// clusterKit is a kit on a cluster; all keys of all its queues are in one slot.
type clusterKit struct {
	*kit
	nodes *testredis.Nodes
}

func newClusterKit(t *testing.T, nodes *testredis.Nodes, prefix string) *clusterKit {
	t.Helper()
	k := newKit(t, nodes.Masters[0])
	store, err := redisq.New(nodes.Client(t), redisq.Prefix(prefix), redisq.Logger(quiet()))
	require.NoError(t, err)
	c, err := NewClient(store, WithLogger(quiet()))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = c.Close()
		_ = store.Close()
	})
	k.store, k.client = store, c
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	k.ctx = ctx
	return &clusterKit{k, nodes}
}

// audit checks all keys, on the node that has them.
func (k *clusterKit) audit(prefix string) {
	k.Helper()
	owner := func(m *testredis.Server) bool {
		keys, err := m.Client(k).Keys(k.ctx, "*").Result()
		require.NoError(k, err)
		return len(keys) > 0
	}
	with := 0
	for _, m := range k.nodes.Masters {
		if !owner(m) {
			continue
		}
		with++
		problems, err := audit.Check(k.ctx, m.Client(k), prefix)
		require.NoError(k, err)
		require.Empty(k, problems)
	}
	require.Equal(k, 1, with, "nodes that have keys")
}

// C087: all that a queue can do works in a cluster, if its keys have a hash tag.
func TestC087Cluster(t *testing.T) {
	t.Parallel()
	nodes := testredis.Cluster(t, 3)
	needsHashTag(newClusterKit(t, nodes, "bull"))
	k := newClusterKit(t, nodes, "{app}:q")
	q := k.client.Queue("greetings")
	release := make(chan struct{})
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		if job.Data.Name == "slow" {
			<-release
		}
		return Step(ctx, job, "greet", func(ctx context.Context) (greeting, error) { return hello(ctx, job) })
	}, Concurrency(3), Limit(10_000, time.Second), Metrics(10), LockDuration(time.Hour), renewEvery(100*time.Millisecond), StalledCheck(100*time.Millisecond, 1),
		GroupLimit(10_000, time.Second, func(*ActiveJob) string { return "all" }))
	k.workReports()
	k.workPages()

	require.Equal(t, "hello plain", k.result(k.add("plain")).Text)
	require.Equal(t, "hello later", k.result(k.add("later", Delay(20*time.Millisecond), Priority(3))).Text)
	many, err := k.task.AddMany(k.ctx, k.client, make([]greet, 50))
	require.NoError(t, err)
	for _, h := range many {
		k.result(h)
	}
	require.Equal(t, "acme: page 1 page 2, logo", value(k.kit, k.addReport(slotsOf(logoOf(), pageOf(1), pageOf(2)))))
	for range 3 {
		k.add("again", Deduplicate(Dedup{ID: "d", KeepLastIfActive: true}), KeepCompleted(KeepLast(1000)))
	}
	_, err = q.UpsertSchedule(k.ctx, "tick", ScheduleSpec{Every: time.Hour}, "greet", greet{Name: "tick"})
	require.NoError(t, err)
	k.until("the schedule goes on", func() bool {
		counts, err := q.Counts(k.ctx, StateDelayed)
		return err == nil && counts[StateDelayed] == 1
	})
	k.until("all is done", func() bool {
		counts, err := q.Counts(k.ctx, StateWaiting, StateActive)
		return err == nil && counts[StateWaiting]+counts[StateActive] == 0
	})
	require.Len(t, <-follow(k.kit, q, 20, EventsAfter("0")), 20)
	ran := k.scriptsRun()
	slow := k.add("slow")
	rdb, last := nodes.Client(t), time.Duration(0)
	k.until("its lock is renewed", func() bool {
		before := last
		last = rdb.PTTL(k.ctx, "{app}:q:greetings:"+slow.ID+":lock").Val()
		return before > 0 && last > before
	})
	close(release)
	k.result(slow)
	k.operate(q, many[0].ID)
	k.operateOnOne(q)
	k.audit("{app}:q")
	report, err := inuse.Run(k.ctx, nodes.Client(t), inuse.Prefix("{app}:q"), inuse.Queues("greetings"))
	require.NoError(t, err)
	require.True(t, report.Sound(), "%v", report.Findings)
	require.NoError(t, q.Obliterate(k.ctx, Force()))
	for _, name := range scripts.Names() {
		if name == "repair" { // nothing is wrong
			continue
		}
		require.True(t, ran()[name], "script %s was not run", name)
	}
}

// scriptsRun returns what tells which scripts some node has run.
func (k *clusterKit) scriptsRun() func() map[string]bool {
	k.Helper()
	names := scripts.Names()
	shas := make([]string, len(names))
	for i, name := range names {
		shas[i] = scripts.Load(name).SHA
	}
	var clients []*redis.Client
	for _, m := range k.nodes.Masters {
		clients = append(clients, m.Client(k))
	}
	return func() map[string]bool {
		run := map[string]bool{}
		for _, c := range clients {
			known, err := c.ScriptExists(k.ctx, shas...).Result()
			require.NoError(k, err)
			for i, name := range names {
				run[name] = run[name] || known[i]
			}
		}
		return run
	}
}

// operateOnOne makes the calls about one job.
func (k *clusterKit) operateOnOne(q *Queue) {
	k.Helper()
	ctx := k.ctx
	h := k.add("far", Delay(time.Hour))
	require.NoError(k, errors.Join(q.ChangeDelay(ctx, h.ID, 2*time.Hour), q.Promote(ctx, h.ID)))
	k.result(h)
	_, err := q.AddLog(ctx, h.ID, "line", 0)
	require.NoError(k, errors.Join(err, q.ClearLogs(ctx, h.ID, 0), q.Cancel(ctx, h.ID)))
	list, err := q.Jobs(ctx, StateCompleted, 0, -1, OldestFirst())
	require.NoError(k, err)
	require.NotEmpty(k, list)
	held := k.add("held", Delay(time.Hour), Deduplicate(Dedup{ID: "e"}))
	_, err = k.store.RemoveDedupKey(ctx, "greetings", "e", held.ID)
	require.NoError(k, errors.Join(err, q.Remove(ctx, h.ID), q.Remove(ctx, held.ID)))
	id := k.waitingFlow()
	_, err = k.client.Queue("children").RemoveChildDependency(ctx, "a")
	require.NoError(k, errors.Join(err, k.client.Queue("parents").RemovePendingChildren(ctx, id)))
}

// operate makes the calls that nothing else in the test needs.
func (k *clusterKit) operate(q *Queue, id string) {
	k.Helper()
	ctx := k.ctx
	errs := []error{
		q.Pause(ctx), q.RetryWith(ctx, id, RetryRequest{State: StateCompleted}), q.ChangePriority(ctx, id, 4), q.UpdateData(ctx, id, greet{Name: "new"}), q.UpdateProgress(ctx, id, 1),
		q.Resume(ctx), q.SetGlobalConcurrency(ctx, 5), q.SetGlobalRateLimit(ctx, RateLimit{Max: 100, Per: time.Second}), q.PromoteAll(ctx),
		q.RetryAll(ctx, StateFailed), q.RateLimit(ctx, time.Millisecond), q.Drain(ctx),
	}
	_, err := q.RemoveSchedules(ctx, "tick")
	errs = append(errs, err)
	_, err = q.Clean(ctx, StateCompleted, 0, 5)
	errs = append(errs, err)
	_, err = q.RemoveOrphans(ctx, 5)
	errs = append(errs, err)
	_, err = q.Workers(ctx)
	errs = append(errs, err)
	_, err = q.Metrics(ctx, StateCompleted)
	errs = append(errs, err)
	_, err = q.TrimEvents(ctx, 5)
	errs = append(errs, err)
	require.NoError(k, errors.Join(errs...))
	k.until("all is done", func() bool {
		counts, err := q.Counts(ctx, StateWaiting, StateActive, StatePrioritized)
		return err == nil && counts[StateWaiting]+counts[StateActive]+counts[StatePrioritized] == 0
	})
}

// needsHashTag makes sure that without a hash tag a worker does not start, and
// nothing is written.
func needsHashTag(k *clusterKit) {
	k.Helper()
	w, err := NewWorker(k.client, k.queue)
	require.NoError(k, err)
	k.task.Handle(w, hello)
	err = w.Start(k.ctx)
	require.ErrorIs(k, err, redisq.ErrNoHashTag)
	require.ErrorContains(k, err, `Prefix("{jobs}")`)
	_, err = k.task.Add(k.ctx, k.client, greet{Name: "a"})
	require.ErrorIs(k, err, redisq.ErrNoHashTag)
	for _, m := range k.nodes.Masters {
		require.Zero(k, m.Client(k).DBSize(k.ctx).Val())
	}
}

// Jobs that are added and worked while the cluster changes are all done.
func TestClusterChangesUnderLoad(t *testing.T) {
	t.Parallel()
	const prefix = "{3560}" // in slot 0
	for name, change := range map[string]func(*testredis.Nodes){
		"a replica takes over": func(n *testredis.Nodes) { n.Failover() },
		"the slot moves":       func(n *testredis.Nodes) { n.Migrate(0, 0, 1, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newClusterKit(t, testredis.Cluster(t, 3), prefix)
			newLoad(k.kit).during(func() { change(k.nodes) })
			k.audit(prefix)
		})
	}
}
