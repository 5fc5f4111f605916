package bullmq

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

func redisZ(member string, at time.Time) redis.Z {
	return redis.Z{Score: float64(at.UnixMilli()), Member: member}
}

// TestC041AdvancesWhenTaken: the next job is made before the handler runs, so
// that handlers slower than the interval do not stretch it.
func TestC041AdvancesWhenTaken(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	q := k.client.Queue("greetings")
	started, release := &recorder{}, make(chan struct{})
	k.worker(func(_ context.Context, j *Job[greet]) (greeting, error) {
		started.note(j.ID)
		<-release
		return greeting{}, nil
	}, Concurrency(5))
	_, err := q.UpsertSchedule(k.ctx, "s", ScheduleSpec{Every: 50 * time.Millisecond}, "greet", greet{Name: "x"})
	require.NoError(t, err)
	k.until("five handlers at once, none of which has ended", func() bool { return len(started.all()) == 5 })
	close(release)
	k.until("it goes on", func() bool { return len(started.all()) > 7 })
	ids := started.all()
	unique := map[string]bool{}
	for _, id := range ids {
		require.False(t, unique[id], "no run comes twice: %s", id)
		unique[id] = true
	}
}

// TestC041FailuresDoNotStopIt: a handler that always fails, with retries.
func TestC041FailuresDoNotStopIt(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	q := k.client.Queue("greetings")
	runs := &recorder{}
	k.worker(func(_ context.Context, j *Job[greet]) (greeting, error) {
		runs.note(fmt.Sprint(j.ID, " ", j.Attempt))
		return greeting{}, errors.New("always")
	})
	_, err := q.UpsertSchedule(k.ctx, "s", ScheduleSpec{Every: 30 * time.Millisecond, Limit: 4}, "greet", greet{Name: "x"}, Attempts(2))
	require.NoError(t, err)
	k.settled(map[State]int{StateFailed: 4})
	require.Len(t, runs.all(), 8)
	s, err := q.Schedule(k.ctx, "s")
	require.NoError(t, err)
	require.Equal(t, 4, s.Iterations, "retries make no further jobs")
}

// TestC045NoGhosts stores a schedule again and again while its jobs run: each
// handler goes on until that was done twice.
func TestC045NoGhosts(t *testing.T) {
	t.Parallel()
	every := ScheduleSpec{Every: 10 * time.Millisecond}
	for name, store := range map[string]func(*kit, int) error{
		"by hand": func(k *kit, _ int) error {
			_, err := k.client.Queue("greetings").UpsertSchedule(k.ctx, "s", every, "greet", greet{Name: "x"}, KeepCompleted(KeepNone()))
			return err
		},
		"ensured": func(k *kit, _ int) error {
			d := k.task.DeclareSchedule("s", every, func() (greet, error) { return greet{Name: "x"}, nil }, KeepCompleted(KeepNone()))
			return NewScheduleSet(owner, d).Ensure(k.ctx, k.client)
		},
		"ensured, changed each time": func(k *kit, n int) error {
			d := k.task.DeclareSchedule("s", every, func() (greet, error) { return greet{Name: "x", Fail: n % 2}, nil }, KeepCompleted(KeepNone()))
			return NewScheduleSet(owner, d).Ensure(k.ctx, k.client)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, testredis.Any(t))
			runs, problems, stored := &recorder{}, &recorder{}, make(chan struct{})
			k.worker(func(_ context.Context, j *Job[greet]) (greeting, error) {
				<-stored
				<-stored
				runs.note(j.Name + " " + j.Data.Name)
				return greeting{}, nil
			}, Concurrency(3), WithHooks(Hooks{
				Error:  func(err error) { problems.note(err.Error()) },
				Failed: func(_ *ActiveJob, err error, _ bool) { problems.note(err.Error()) },
			}))
			for n := 0; len(runs.all()) < 30; n++ {
				require.NoError(t, k.ctx.Err())
				require.NoError(t, store(k, n))
				for range 3 { // a handler that waits for this
					select {
					case stored <- struct{}{}:
					default:
					}
				}
			}
			_, err := k.client.Queue("greetings").RemoveSchedules(k.ctx, "s")
			require.NoError(t, err)
			close(stored)
			k.settled(map[State]int{})
			for _, r := range runs.all() {
				require.Equal(t, "greet x", r)
			}
			require.Empty(t, problems.all())
		})
	}
}

// foreign lays out a schedule as a peer stored it, with its current job waiting.
func (k *scheduleKit) foreign(id, repeat string, definition ...any) (job string) {
	k.Helper()
	rdb := k.server.Client(k)
	slot := noon.UnixMilli()
	job = fmt.Sprintf("repeat:%s:%d", id, slot)
	opts := fmt.Sprintf(`{"repeat":%s,"jobId":%q,"delay":0,"timestamp":%d,"prevMillis":%d,"repeatJobKey":%q,"attempts":0,"odd":{"z":[1]}}`, repeat, job, slot, slot, id)
	pipe := rdb.TxPipeline()
	pipe.ZAdd(k.ctx, "bull:greetings:repeat", redisZ(id, noon))
	if len(definition) > 0 {
		pipe.HSet(k.ctx, "bull:greetings:repeat:"+id, definition...)
	}
	pipe.HSet(k.ctx, "bull:greetings:"+job, "name", "greet", "data", `{"name":"old"}`, "opts", opts, "timestamp", slot, "delay", 0, "priority", 0, "rjk", id)
	pipe.LPush(k.ctx, "bull:greetings:wait", job)
	_, err := pipe.Exec(k.ctx)
	require.NoError(k, err)
	return job
}

// reporting is a worker of the kit's queue whose errors are noted.
func (k *scheduleKit) reporting() (runs, problems *recorder) {
	k.Helper()
	runs, problems = &recorder{}, &recorder{}
	k.worker(func(_ context.Context, j *Job[greet]) (greeting, error) {
		runs.note(j.ID)
		return greeting{}, nil
	}, WithHooks(Hooks{Error: func(err error) { problems.note(err.Error()) }}))
	return runs, problems
}

func TestSchedulesOfPeers(t *testing.T) {
	t.Parallel()
	next := func(k *scheduleKit, id string) (string, *Record) {
		slot, err := k.server.Client(k).ZScore(k.ctx, "bull:greetings:repeat", id).Result()
		require.NoError(k, err)
		r, err := k.q.Job(k.ctx, fmt.Sprintf("repeat:%s:%.0f", id, slot))
		require.NoError(k, err)
		return time.UnixMilli(int64(slot)).UTC().Format(time.RFC3339), r
	}
	t.Run("interval, options kept", func(t *testing.T) {
		t.Parallel()
		k := newScheduleKit(t)
		k.foreign("s", `{"every":60000,"count":4,"own":"x"}`, "name", "greet", "every", "60000", "offset", "0", "ic", "4", "data", `{"name":"new"}`)
		k.take()
		at, job := next(k, "s")
		require.Equal(t, "2025-06-02T12:01:00Z", at)
		require.Equal(t, `{"name":"new"}`, string(job.Data), "the payload is the schedule's")
		require.JSONEq(t, `{"repeat":{"every":60000,"count":5,"own":"x"},"jobId":"repeat:s:1748865660000","delay":60000,"timestamp":1748865600000,
			"repeatJobKey":"s","attempts":0,"odd":{"z":[1]}}`, string(job.Opts))
		require.Equal(t, 5, k.info("s").Iterations)
	})
	t.Run("pattern with a zone", func(t *testing.T) {
		t.Parallel()
		k := newScheduleKit(t)
		k.foreign("s", `{"pattern":"0 9 * * *","tz":"Asia/Tokyo","count":1}`, "name", "greet", "pattern", "0 9 * * *", "tz", "Asia/Tokyo", "ic", "1")
		k.take()
		at, job := next(k, "s")
		require.Equal(t, "2025-06-03T00:00:00Z", at)
		require.Equal(t, `{}`, string(job.Data))
		require.Contains(t, string(job.Opts), `"prevMillis":1748908800000`)
	})
	t.Run("pattern in UTC by a 5.x option, dates as text", func(t *testing.T) {
		t.Parallel()
		k := newScheduleKit(t)
		k.foreign("s", `{"cron":"0 0 * * *","utc":true,"count":1,"startDate":"2025-07-01T12:00:00.000Z"}`, "name", "greet", "ic", "1")
		k.take()
		at, _ := next(k, "s")
		require.Equal(t, "2025-07-02T00:00:00Z", at)
	})
	t.Run("pattern in the zone of this machine", func(t *testing.T) {
		t.Parallel()
		k := newScheduleKit(t)
		var log bytes.Buffer
		var err error
		k.client, err = NewClient(k.store, WithClock(k.now), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		require.NoError(t, err)
		k.foreign("s", `{"pattern":"0 9 * * *","count":1}`, "name", "greet", "pattern", "0 9 * * *", "ic", "1")
		k.take()
		at, _ := next(k, "s")
		parsed, err := time.Parse(time.RFC3339, at)
		require.NoError(t, err)
		require.Equal(t, 9, parsed.In(time.Local).Hour())
		require.Contains(t, log.String(), "without a time zone")
	})
	t.Run("repeatable of 5.x", func(t *testing.T) {
		t.Parallel()
		k := newScheduleKit(t)
		key := "5d41402abc4b2a76b9719d911017c592"
		k.foreign(key, `{"every":60000,"count":1}`, "name", "greet", "every", "60000")
		for n := range 3 {
			k.finish(k.take(), nil)
			at, job := next(k, key)
			require.Equal(t, noon.Add(time.Duration(n+1)*time.Minute).Format(time.RFC3339), at)
			require.Equal(t, `{"name":"old"}`, string(job.Data), "its payload stays with it")
			k.forward(time.Minute)
		}
	})
	t.Run("only named", func(t *testing.T) {
		t.Parallel()
		k := newScheduleKit(t)
		k.foreign("s", `null`, "name", "greet", "every", "60000", "ic", "1")
		k.take()
		require.Equal(t, map[State]int{StateActive: 1}, k.counts())
	})
}

// TestScheduleProblemsAreReported: the job runs all the same.
func TestScheduleProblemsAreReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		repeat, words string
		definition    []any
	}{
		"bad pattern":     {`{"pattern":"RRULE:FREQ=DAILY","count":1}`, "RRULE", []any{"name", "greet", "pattern", "RRULE:FREQ=DAILY", "ic", "1"}},
		"bad zone":        {`{"pattern":"* * * * *","tz":"Mars/Base","count":1}`, "Mars/Base", []any{"name", "greet", "ic", "1"}},
		"no such options": {`7`, "repeat", []any{"name", "greet", "ic", "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newScheduleKit(t)
			job := k.foreign("s", c.repeat, c.definition...)
			runs, problems := k.reporting()
			k.until("run and report", func() bool { return len(runs.all()) == 1 && len(problems.all()) == 1 })
			require.Equal(t, job, runs.all()[0])
			require.Contains(t, problems.all()[0], `schedule "s"`)
			require.Contains(t, problems.all()[0], c.words)
			k.settled(map[State]int{StateCompleted: 1})
		})
	}
	t.Run("repeatable of an older 5.x", func(t *testing.T) {
		t.Parallel()
		k := newScheduleKit(t)
		k.foreign("greet::::60000", `{"every":60000,"count":1}`)
		rdb := k.server.Client(t)
		job := fmt.Sprintf("repeat:5d41402abc4b2a76b9719d911017c592:%d", noon.UnixMilli()) // as it names its jobs
		old := fmt.Sprintf("repeat:greet::::60000:%d", noon.UnixMilli())
		require.NoError(t, rdb.Rename(k.ctx, "bull:greetings:"+old, "bull:greetings:"+job).Err())
		require.NoError(t, rdb.LSet(k.ctx, "bull:greetings:wait", 0, job).Err())
		runs, problems := k.reporting()
		k.until("run and report", func() bool { return len(runs.all()) == 1 && len(problems.all()) == 1 })
		require.Contains(t, problems.all()[0], "older form")
		require.Equal(t, float64(noon.UnixMilli()), rdb.ZScore(k.ctx, "bull:greetings:repeat", "greet::::60000").Val(), "a 5.x peer can go on with it")
	})
}

// flakyStore fails to advance as often as it is told to.
type flakyStore struct {
	storage.Storage
	failures atomic.Int32
	calls    atomic.Int32
	before   func()
}

type outageError struct{}

func (outageError) Error() string { return "the storage is away" }
func (outageError) Unwrap() error { return storage.ErrUnavailable }

func (s *flakyStore) AdvanceSchedules(ctx context.Context, queue string, now time.Time, list []storage.Advance) ([]storage.Scheduled, error) {
	s.calls.Add(1)
	if s.before != nil {
		s.before()
	}
	if s.failures.Add(-1) >= 0 {
		return nil, outageError{}
	}
	return s.Storage.AdvanceSchedules(ctx, queue, now, list)
}

func TestAdvancingIsTriedAgain(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	flaky := &flakyStore{Storage: k.store}
	flaky.failures.Store(2)
	var err error
	k.client, err = NewClient(flaky, WithLogger(quiet()))
	require.NoError(t, err)
	problems := &recorder{}
	k.worker(hello, WithHooks(Hooks{Error: func(err error) { problems.note(err.Error()) }}))
	_, err = k.client.Queue("greetings").UpsertSchedule(k.ctx, "s", ScheduleSpec{Every: time.Hour}, "greet", greet{Name: "x"})
	require.NoError(t, err)
	k.settled(map[State]int{StateCompleted: 1, StateDelayed: 1})
	require.EqualValues(t, 3, flaky.calls.Load())
	require.Empty(t, problems.all())
}

// A storage that does not take the next job of a schedule ends neither the schedule
// nor the job: that waits, uncounted, until the storage answers.
func TestAScheduleOutlivesAnOutageThatIsLongerThanALock(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	flaky := &flakyStore{Storage: k.store}
	flaky.failures.Store(1 << 30)
	var err error
	k.client, err = NewClient(flaky, WithLogger(quiet()))
	require.NoError(t, err)
	ran, problems := &recorder{}, &recorder{}
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		ran.note(job.ID)
		return hello(ctx, job)
	}, LockDuration(time.Second), setBackTime(10*time.Millisecond), WithHooks(Hooks{Error: func(err error) { problems.note(err.Error()) }}))
	run, err := k.client.Queue("greetings").UpsertSchedule(k.ctx, "s", ScheduleSpec{Every: time.Hour}, "greet", greet{Name: "x"})
	require.NoError(t, err)
	k.until("it was taken again", func() bool { return k.record(run.JobID).AttemptsStarted > 1 })
	require.Empty(t, ran.all(), "it would have run without a next one")
	require.Zero(t, k.record(run.JobID).AttemptsMade)
	flaky.failures.Store(0)
	k.settled(map[State]int{StateCompleted: 1, StateDelayed: 1})
	require.Equal(t, []string{run.JobID}, ran.all())
	require.LessOrEqual(t, len(problems.all()), 1, problems.all())
}

// TestAdvancingAJobThatIsLost: its handler does not run here, but where it is taken next.
func TestAdvancingAJobThatIsLost(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	rdb := k.server.Client(t)
	flaky := &flakyStore{Storage: k.store}
	flaky.failures.Store(1 << 30)
	var once sync.Once
	flaky.before = func() {
		once.Do(func() {
			ids, err := rdb.LRange(k.ctx, "bull:greetings:active", 0, -1).Result()
			require.NoError(t, err)
			require.NoError(t, rdb.Set(k.ctx, "bull:greetings:"+ids[0]+":lock", "other", 0).Err())
		})
	}
	client, err := NewClient(flaky, WithLogger(quiet()))
	require.NoError(t, err)
	k.client = client
	ran, lost := &recorder{}, &recorder{}
	k.worker(func(_ context.Context, j *Job[greet]) (greeting, error) {
		ran.note(j.ID)
		return greeting{}, nil
	}, LockDuration(time.Second), WithHooks(Hooks{LockLost: func(j *ActiveJob) { lost.note(j.ID) }}))
	_, err = client.Queue("greetings").UpsertSchedule(k.ctx, "s", ScheduleSpec{Every: time.Hour}, "greet", greet{Name: "x"})
	require.NoError(t, err)
	k.until("the lock is found lost", func() bool { return len(lost.all()) > 0 })
	require.Empty(t, ran.all())
	require.Equal(t, map[State]int{StateActive: 1}, k.counts())
}

func TestManualAdvancesSchedules(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	k.schedule("s", ScheduleSpec{Every: time.Hour}, "x")
	j := k.take()
	require.Equal(t, "s", j.ScheduleID)
	require.Equal(t, map[State]int{StateActive: 1, StateDelayed: 1}, k.counts())
	require.True(t, json.Valid(j.Record().Opts))
}
