package bullmq

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/ledger"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// call is a public function that talks to the storage, as the tests call it.
type publicCall func(ctx context.Context, c *Client, queue string) error

// publicReads and publicWrites are all public functions that ask the storage once.
var (
	publicReads = map[string]publicCall{
		"Queue.Paused": func(ctx context.Context, c *Client, q string) error { return second(c.Queue(q).Paused(ctx)) },
		"Queue.Job":    func(ctx context.Context, c *Client, q string) error { return second(c.Queue(q).Job(ctx, "1")) },
		"Queue.Jobs": func(ctx context.Context, c *Client, q string) error {
			return second(c.Queue(q).Jobs(ctx, StateWaiting, 0, -1, OldestFirst()))
		},
		"Queue.State":    func(ctx context.Context, c *Client, q string) error { return second(c.Queue(q).State(ctx, "1")) },
		"Queue.Finished": func(ctx context.Context, c *Client, q string) error { return second(c.Queue(q).Finished(ctx, "1")) },
		"Queue.DelayedBefore": func(ctx context.Context, c *Client, q string) error {
			return second(c.Queue(q).DelayedBefore(ctx, time.Now()))
		},
		"Queue.Counts": func(ctx context.Context, c *Client, q string) error { return second(c.Queue(q).Counts(ctx)) },
		"Queue.CountsByPriority": func(ctx context.Context, c *Client, q string) error {
			return second(c.Queue(q).CountsByPriority(ctx, 1))
		},
		"Queue.Logs": func(ctx context.Context, c *Client, q string) error {
			_, _, err := c.Queue(q).Logs(ctx, "1", 0, -1)
			return err
		},
		"Queue.Metrics": func(ctx context.Context, c *Client, q string) error {
			return second(c.Queue(q).Metrics(ctx, StateFailed))
		},
		"Queue.Workers":      func(ctx context.Context, c *Client, q string) error { return second(c.Queue(q).Workers(ctx)) },
		"Queue.Meta":         func(ctx context.Context, c *Client, q string) error { return second(c.Queue(q).Meta(ctx)) },
		"Queue.RateLimitTTL": func(ctx context.Context, c *Client, q string) error { return second(c.Queue(q).RateLimitTTL(ctx)) },
		"Queue.DedupJob":     func(ctx context.Context, c *Client, q string) error { return second(c.Queue(q).DedupJobID(ctx, "d")) },
		"Queue.DependencyCounts": func(ctx context.Context, c *Client, q string) error {
			return second(c.Queue(q).DependencyCounts(ctx, "1"))
		},
		"Queue.Prometheus": func(ctx context.Context, c *Client, q string) error { return second(c.Queue(q).Prometheus(ctx)) },
		"Queue.Children":   func(ctx context.Context, c *Client, q string) error { return second(c.Queue(q).Children(ctx, "1")) },
		"Queue.ChildrenPage": func(ctx context.Context, c *Client, q string) error {
			_, _, err := c.Queue(q).ChildrenPage(ctx, "1", ChildPending, 0, 10)
			return err
		},
		"Queue.Flow":           func(ctx context.Context, c *Client, q string) error { return second(c.Queue(q).Flow(ctx, "1", 1, 1)) },
		"Queue.Schedule":       func(ctx context.Context, c *Client, q string) error { return second(c.Queue(q).Schedule(ctx, "s")) },
		"Queue.Schedules":      func(ctx context.Context, c *Client, q string) error { return second(c.Queue(q).Schedules(ctx, 0, -1)) },
		"Queue.CountSchedules": func(ctx context.Context, c *Client, q string) error { return second(c.Queue(q).CountSchedules(ctx)) },
		"Handle.State": func(ctx context.Context, c *Client, q string) error {
			return second((&JobHandle[None]{ID: "1", Queue: q, client: c}).State(ctx))
		},
	}
	publicWrites = map[string]publicCall{
		"Task.Add": func(ctx context.Context, c *Client, q string) error {
			return second(kindTask(q).Add(ctx, c, greet{Name: "x"}))
		},
		"Task.AddMany": func(ctx context.Context, c *Client, q string) error {
			return second(kindTask(q).AddMany(ctx, c, []greet{{Name: "x"}, {Name: "y"}}))
		},
		"Queue.Add": func(ctx context.Context, c *Client, q string) error { return second(c.Queue(q).Add(ctx, "n", 1)) },
		"Client.AddFlows": func(ctx context.Context, c *Client, q string) error {
			root := NewNode(q, "n", 1)
			root.Children = []*Node{NewNode(q, "c", 1)}
			return second(c.AddFlows(ctx, root))
		},
		"Chain.Add": func(ctx context.Context, c *Client, q string) error {
			return second(Begin(kindTask(q), greet{Name: "x"}).Add(ctx, c))
		},
		"Queue.UpsertSchedule": func(ctx context.Context, c *Client, q string) error {
			return second(c.Queue(q).UpsertSchedule(ctx, "s", ScheduleSpec{Every: time.Hour}, "n", 1))
		},
		"Queue.Unschedule": func(ctx context.Context, c *Client, q string) error {
			return second(c.Queue(q).RemoveSchedules(ctx, "s"))
		},
		"Queue.Cancel": func(ctx context.Context, c *Client, q string) error { return c.Queue(q).Cancel(ctx, "1") },
		"Queue.Pause":  func(ctx context.Context, c *Client, q string) error { return c.Queue(q).Pause(ctx) },
		"Queue.Resume": func(ctx context.Context, c *Client, q string) error { return c.Queue(q).Resume(ctx) },
		"Queue.Drain":  func(ctx context.Context, c *Client, q string) error { return c.Queue(q).Drain(ctx, WithDelayed()) },
		"Queue.Clean": func(ctx context.Context, c *Client, q string) error {
			return second(c.Queue(q).Clean(ctx, StateCompleted, 0, 0))
		},
		"Queue.Obliterate": func(ctx context.Context, c *Client, q string) error { return c.Queue(q).Obliterate(ctx, Force()) },
		"Queue.RetryAll":   func(ctx context.Context, c *Client, q string) error { return c.Queue(q).RetryAll(ctx, StateFailed) },
		"Queue.PromoteAll": func(ctx context.Context, c *Client, q string) error { return c.Queue(q).PromoteAll(ctx) },
		"Queue.Retry":      func(ctx context.Context, c *Client, q string) error { return c.Queue(q).Retry(ctx, "1") },
		"Queue.Promote":    func(ctx context.Context, c *Client, q string) error { return c.Queue(q).Promote(ctx, "1") },
		"Queue.ChangeDelay": func(ctx context.Context, c *Client, q string) error {
			return c.Queue(q).ChangeDelay(ctx, "1", time.Hour)
		},
		"Queue.ChangePriority": func(ctx context.Context, c *Client, q string) error {
			return c.Queue(q).ChangePriority(ctx, "1", 1)
		},
		"Queue.SetData": func(ctx context.Context, c *Client, q string) error { return c.Queue(q).UpdateData(ctx, "1", 1) },
		"Queue.Remove":  func(ctx context.Context, c *Client, q string) error { return c.Queue(q).Remove(ctx, "1") },
		"Queue.RemovePendingChildren": func(ctx context.Context, c *Client, q string) error {
			return c.Queue(q).RemovePendingChildren(ctx, "1")
		},
		"Queue.Unlink": func(ctx context.Context, c *Client, q string) error {
			return second(c.Queue(q).RemoveChildDependency(ctx, "1"))
		},
		"Queue.SetProgress": func(ctx context.Context, c *Client, q string) error { return c.Queue(q).UpdateProgress(ctx, "1", 1) },
		"Queue.AddLog": func(ctx context.Context, c *Client, q string) error {
			return second(c.Queue(q).AddLog(ctx, "1", "l", 0))
		},
		"Queue.ClearLogs":            func(ctx context.Context, c *Client, q string) error { return c.Queue(q).ClearLogs(ctx, "1", 0) },
		"Queue.SetGlobalConcurrency": func(ctx context.Context, c *Client, q string) error { return c.Queue(q).SetGlobalConcurrency(ctx, 1) },
		"Queue.SetGlobalRateLimit": func(ctx context.Context, c *Client, q string) error {
			return c.Queue(q).SetGlobalRateLimit(ctx, RateLimit{1, time.Second})
		},
		"Queue.RateLimit": func(ctx context.Context, c *Client, q string) error { return c.Queue(q).RateLimit(ctx, time.Second) },
		"Queue.RemoveDedupKey": func(ctx context.Context, c *Client, q string) error {
			return second(c.Queue(q).RemoveDedupKey(ctx, "d"))
		},
		"Queue.TrimEvents": func(ctx context.Context, c *Client, q string) error { return second(c.Queue(q).TrimEvents(ctx, 0)) },
		"Queue.Publish":    func(ctx context.Context, c *Client, q string) error { return c.Queue(q).Publish(ctx, "own", 0) },
		"Manual.TakeNow": func(ctx context.Context, c *Client, q string) error {
			m, err := NewManual(c, q)
			if err != nil {
				return err
			}
			defer m.Close()
			return second(m.TakeNow(ctx, 1))
		},
	}
	// publicSteps ask the storage several times, or not for one queue.
	publicSteps = map[string]publicCall{
		"Client.Ping":         func(ctx context.Context, c *Client, _ string) error { return c.Ping(ctx) },
		"Queue.RemoveOrphans": func(ctx context.Context, c *Client, q string) error { return second(c.Queue(q).RemoveOrphans(ctx, 0)) },
		"ScheduleSet.Ensure": func(ctx context.Context, c *Client, q string) error {
			return kindSet(q).Ensure(ctx, c)
		},
		"ScheduleSet.Prune": func(ctx context.Context, c *Client, q string) error { return second(kindSet(q).Prune(ctx, c)) },
	}
)

func kindTask(queue string) *Task[greet, greeting] {
	return NewTask[greet, greeting](Spec{Queue: &QueueSpec{Name: queue}, Name: "greet"}, nil)
}

func kindSet(queue string) *ScheduleSet {
	return NewScheduleSet("owner", kindTask(queue).DeclareSchedule("s", ScheduleSpec{Every: time.Hour}, nil))
}

// allPublic are all calls, or those of some tables.
func allPublic(tables ...map[string]publicCall) map[string]publicCall {
	all := map[string]publicCall{}
	for _, t := range tables {
		maps.Copy(all, t)
	}
	return all
}

// onlyKind fails unless an error is of one kind and of no other.
func onlyKind(t *testing.T, err, want error) {
	t.Helper()
	require.ErrorIs(t, err, want)
	for _, k := range []error{ErrInvalid, ErrUnavailable, ErrUncertain, ErrNotPermitted, ErrUnsupported, ErrMalformed, ErrClosed} {
		require.Equal(t, k == want, errors.Is(err, k), "%v: %v", k, err)
	}
}

// eachKind makes all calls at once, and fails for each whose error is not of the kind.
func eachKind(t *testing.T, c *Client, calls map[string]publicCall, want error) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	errs := map[string]error{}
	for name, call := range calls {
		all.Go(func() {
			err := call(t.Context(), c, "q")
			mu.Lock()
			defer mu.Unlock()
			errs[name] = err
		})
	}
	all.Wait()
	for name, err := range errs {
		t.Run(name, func(t *testing.T) { onlyKind(t, err, want) })
	}
}

// What a server says, and the kind that each public function then returns.
func TestEveryPublicFunctionTellsTheKindOfAReply(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]error{
		"LOADING Redis is loading the dataset in memory":                                            ErrUnavailable,
		"OOM command not allowed when used memory > 'maxmemory'.":                                   ErrUnavailable,
		"MISCONF Redis is configured to save RDB snapshots":                                         ErrUnavailable,
		"READONLY You can't write against a read only replica.":                                     ErrUnavailable,
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.":          ErrUnavailable,
		"CLUSTERDOWN The cluster is down":                                                           ErrUnavailable,
		"TRYAGAIN Multiple keys request during rehashing of slot":                                   ErrUnavailable,
		"BUSY Redis is busy running a script.":                                                      ErrUnavailable,
		"NOREPLICAS Not enough good replicas to write.":                                             ErrUnavailable,
		"ERR max number of clients reached":                                                         ErrUnavailable,
		"NOAUTH Authentication required.":                                                           ErrNotPermitted,
		"WRONGPASS invalid username-password pair or user is disabled.":                             ErrNotPermitted,
		"NOPERM this user has no permissions to run the 'evalsha' command":                          ErrNotPermitted,
		"ERR The user executing the script can't run this command or subcommand script: 1":          ErrNotPermitted,
		"ERR ACL failure in script: User x has no permissions to run the 'zpopmin' command script":  ErrNotPermitted,
		"ERR unknown command 'EVALSHA', with args beginning with: ":                                 ErrUnsupported,
		"ERR user_script:1: Unknown Redis command called from script script: 1":                     ErrUnsupported,
		"WRONGTYPE Operation against a key holding the wrong kind of value":                         ErrMalformed,
		"ERR user_script:9: WRONGTYPE Operation against a key holding the wrong kind of value":      ErrMalformed,
		"ERR Error running script (call to f_1): @user_script:1: -READONLY You can't write here":    ErrUnavailable,
		"ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed when ...": ErrUnavailable,
	} {
		t.Run(reply, func(t *testing.T) {
			t.Parallel()
			m := miniredis.RunT(t)
			c := kindClient(t, "redis://"+m.Addr())
			require.NoError(t, c.Ping(t.Context()))
			m.SetError(reply)
			calls := allPublic(publicReads, publicWrites, publicSteps)
			switch want {
			case ErrUnsupported:
				delete(calls, "Queue.Workers") // a server without a list of clients has no workers to show
			case ErrMalformed: // a key of another type is no job and no schedule
				for name, missing := range map[string]error{"Queue.Job": ErrJobNotFound, "Queue.Flow": ErrJobNotFound, "Queue.Schedule": ErrScheduleNotFound} {
					require.ErrorIs(t, calls[name](t.Context(), c, "q"), missing, name)
					delete(calls, name)
				}
			}
			eachKind(t, c, calls, want)
		})
	}
}

func kindClient(t *testing.T, url string) *Client {
	t.Helper()
	store, err := redisq.Open(url, redisq.Logger(quiet()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	c, err := NewClient(store, WithLogger(quiet()))
	require.NoError(t, err)
	return c
}

// A name that no queue can have is refused by every function before it sends anything.
func TestEveryPublicFunctionRefusesABadName(t *testing.T) {
	t.Parallel()
	c := kindClient(t, "redis://127.0.0.1:1")
	for name, call := range allPublic(publicReads, publicWrites) {
		t.Run(name, func(t *testing.T) {
			onlyKind(t, call(t.Context(), c, "a:b"), ErrInvalid)
			onlyKind(t, call(t.Context(), c, ""), ErrInvalid)
		})
	}
}

// Nobody listens at the address: nothing was written.
func TestEveryPublicFunctionTellsThatNobodyListens(t *testing.T) {
	t.Parallel()
	c := kindClient(t, "redis://127.0.0.1:1")
	eachKind(t, c, allPublic(publicReads, publicWrites, publicSteps), ErrUnavailable)
}

// After the program closed the storage.
func TestEveryPublicFunctionTellsThatTheStorageIsClosed(t *testing.T) {
	t.Parallel()
	c := kindClient(t, testredis.Any(t).URL())
	require.NoError(t, c.store.(*redisq.Store).Close())
	eachKind(t, c, allPublic(publicReads, publicWrites, publicSteps), ErrClosed)
}

// A context that has ended before anything is sent is told as it is.
func TestEveryPublicFunctionReturnsTheCauseOfAnEndedContext(t *testing.T) {
	t.Parallel()
	c := kindClient(t, testredis.Any(t).URL())
	why := errors.New("the caller's reason")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for name, call := range allPublic(publicReads, publicWrites, publicSteps) {
		if name == "Manual.TakeNow" {
			continue // it does not wait, and does not cut the call off
		}
		t.Run(name, func(t *testing.T) {
			err := call(ctx, c, "q")
			require.ErrorIs(t, err, why)
			require.NoError(t, storage.Kind(err))
		})
	}
}

// An answer that is lost: of a write it is not known whether it was done, and a
// read is made again.
func TestEveryPublicWriteTellsThatItsAnswerWasLost(t *testing.T) {
	t.Parallel()
	server := testredis.Start(t)
	for name, call := range publicWrites {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			link := testredis.Proxy(t, server.Addr())
			c := kindClient(t, link.URL())
			require.NoError(t, c.announce(t.Context(), "q"))
			link.DropReply("bull:q:")
			err := call(t.Context(), c, "q")
			if name == "Queue.Cancel" {
				require.NoError(t, err, "asked twice is as good as once: it is sent again")
				return
			}
			onlyKind(t, err, ErrUncertain)
		})
	}
}

// A user without rights, of the whole server or of one command that a transaction
// of reads contains: the reason stands with the command, and EXEC only says that
// there was one.
func TestEveryPublicFunctionTellsThatTheUserIsNotPermitted(t *testing.T) {
	t.Parallel()
	server := testredis.Start(t)
	rdb := server.Client(t)
	require.NoError(t, rdb.Do(t.Context(), "acl", "setuser", "nobody", "on", ">x", "~*", "-@all", "+multi", "+exec").Err())
	c := kindClient(t, "redis://nobody:x@"+server.Addr())
	eachKind(t, c, allPublic(publicReads, publicWrites), ErrNotPermitted)
	t.Run("wrong password", func(t *testing.T) {
		t.Parallel()
		c := kindClient(t, "redis://nobody:wrong@"+server.Addr())
		onlyKind(t, c.Ping(t.Context()), ErrNotPermitted)
	})
}

// A server that is full takes no writes, and nothing is written; it still reads.
func TestAFullServerIsNotAvailable(t *testing.T) {
	t.Parallel()
	server := testredis.Start(t)
	k := newKit(t, server)
	rdb := server.Client(t)
	k.add("before")
	before := rdb.DBSize(k.ctx).Val()
	require.NoError(t, rdb.ConfigSet(k.ctx, "maxmemory", "1").Err())
	for _, name := range []string{"Task.Add", "Task.AddMany", "Queue.Add", "Client.AddFlows", "Chain.Add", "Queue.UpsertSchedule", "ScheduleSet.Ensure", "Queue.Publish"} {
		onlyKind(t, allPublic(publicWrites, publicSteps)[name](k.ctx, k.client, "greetings"), ErrUnavailable)
	}
	require.Equal(t, before, rdb.DBSize(k.ctx).Val())
	require.NoError(t, rdb.ConfigSet(k.ctx, "maxmemory", "0").Err())
	require.Equal(t, map[State]int{StateWaiting: 1}, k.counts())
	k.add("after")
}

// A key of another type where the queue has its own.
func TestAForeignKeyIsMalformed(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Start(t))
	rdb := k.server.Client(t)
	require.NoError(t, rdb.Set(k.ctx, "bull:greetings:completed", "x", 0).Err())
	_, err := k.client.Queue("greetings").Jobs(k.ctx, StateCompleted, 0, -1, OldestFirst())
	onlyKind(t, err, ErrMalformed)
}

// What is asked of a job that is not there.
func TestCallsAboutAJobThatIsNotThere(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	for _, name := range []string{
		"Queue.Job", "Queue.Logs", "Queue.Children", "Queue.ChildrenPage", "Queue.DependencyCounts", "Queue.Flow", "Queue.Retry", "Queue.Promote",
		"Queue.ChangeDelay", "Queue.ChangePriority", "Queue.SetData", "Queue.SetProgress", "Queue.AddLog", "Queue.ClearLogs", "Queue.Unlink", "Queue.RemovePendingChildren",
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, allPublic(publicReads, publicWrites)[name](k.ctx, k.client, "greetings"), ErrJobNotFound)
		})
	}
	h := k.add("no log and no children")
	_, n, err := k.client.Queue("greetings").Logs(k.ctx, h.ID, 0, -1)
	require.NoError(t, err)
	require.Zero(t, n)
	list, err := k.client.Queue("greetings").Children(k.ctx, h.ID)
	require.NoError(t, err)
	require.Empty(t, list)
}

// What is wrong with an input is of the kind ErrInvalid whoever finds it.
func TestWrongInputIsInvalid(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	q := k.client.Queue("greetings")
	wrongTask := NewTask[greet, greeting](Spec{Queue: k.queue, Name: " "}, nil)
	w, err := NewWorker(k.client, k.queue)
	require.NoError(t, err)
	for name, err := range map[string]error{
		"NewClient":         second(NewClient(nil)),
		"NewWorker":         second(NewWorker(k.client, k.queue, Concurrency(0))),
		"NewWorker, queue":  second(NewWorker(k.client, &QueueSpec{Name: "a:b"})),
		"NewServer":         second(NewWorkerPool(0)),
		"NewTask":           wrongTask.Err(),
		"Add, id":           second(k.task.Add(k.ctx, k.client, greet{}, JobID("1"))),
		"Add, client":       second(k.task.Add(k.ctx, nil, greet{})),
		"Add, payload":      second(q.Add(k.ctx, "n", func() {})),
		"AddMany":           second(k.task.AddMany(k.ctx, k.client, []greet{{}, {}}, Priority(-1))),
		"AddFlows":          second(k.client.AddFlows(k.ctx, NewNode("q", "n", func() {}))),
		"Chain.Add":         second(Chain[None]{}.Add(k.ctx, k.client)),
		"Schedule":          second(q.UpsertSchedule(k.ctx, "s", ScheduleSpec{}, "n", 1)),
		"Ensure":            NewScheduleSet("").Ensure(k.ctx, k.client),
		"Prune":             second(NewScheduleSet("").Prune(k.ctx, k.client)),
		"ChangePriority":    q.ChangePriority(k.ctx, "1", -1),
		"ChangeDelay":       q.ChangeDelay(k.ctx, "1", -1),
		"SetLimit":          q.SetGlobalRateLimit(k.ctx, RateLimit{Max: -1}),
		"Publish":           q.Publish(k.ctx, "completed", 0),
		"Prometheus":        second(q.Prometheus(k.ctx, "one")),
		"Cancel":            q.Cancel(k.ctx, ""),
		"Job":               second(q.Job(k.ctx, "")),
		"SetData":           q.UpdateData(k.ctx, "1", func() {}),
		"SetProgress":       q.UpdateProgress(k.ctx, "1", func() {}),
		"Jobs":              second(q.Jobs(k.ctx, "nowhere", 0, -1, OldestFirst())),
		"TakeNow":           second(k.manual().TakeNow(k.ctx, 0)),
		"Worker.Run":        w.Run(k.ctx),
		"Worker.Stop":       w.Stop(k.ctx),
		"SetConcurrency":    w.SetConcurrency(0),
		"Envelope":          second(Envelope("x", 1)),
		"redisq.Open":       second(redisq.Open("http://x")),
		"redisq.New":        second(redisq.New((*redis.Client)(nil))),
		"WorkerPool.Run":    (&WorkerPool{pool: ledger.NewPool(1)}).Run(k.ctx),
		"DedupTTL":          second(k.task.Add(k.ctx, k.client, greet{}, Deduplicate(Dedup{}))),
		"Client.Queue name": q.client.Queue("").Pause(k.ctx),
	} {
		t.Run(name, func(t *testing.T) { onlyKind(t, err, ErrInvalid) })
	}
}
