package bullmq

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// C055: jobs that a rate limit put back keep their places, also where the
// counter that orders equal priorities wraps.
func TestC055OrderAfterARateLimit(t *testing.T) {
	t.Parallel()
	for _, counter := range []int64{0, math.MaxUint32 - 4} {
		k := newKit(t, testredis.Any(t))
		require.NoError(t, k.server.Client(t).Set(k.ctx, "bull:greetings:pc", counter, 0).Err())
		for i := range 10 {
			k.add(fmt.Sprint(i), Priority(10))
		}
		var seen recorder
		k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
			if job.Starts == 1 && job.Data.Name < "3" {
				return greeting{}, RateLimited(10 * time.Millisecond)
			}
			seen.note(job.Data.Name)
			return hello(ctx, job)
		}, Limit(1000, time.Second))
		k.settled(map[State]int{StateCompleted: 10})
		want := "0 1 2 3 4 5 6 7 8 9"
		if counter > 0 { // those behind the wrap come first, which is what peers do too
			want = "4 5 6 7 8 9 0 1 2 3"
		}
		require.Equal(t, want, strings.Join(seen.all(), " "))
	}
}

// C065: what an add yields to, by mode and by the state of the job that holds the id.
func TestC065DeduplicationByModeAndState(t *testing.T) {
	t.Parallel()
	modes := map[string]Dedup{
		"simple":    {ID: "d"},
		"throttle":  {ID: "d", TTL: time.Hour},
		"extend":    {ID: "d", TTL: time.Hour, Extend: true},
		"debounce":  {ID: "d", TTL: time.Hour, Extend: true, Replace: true},
		"keep last": {ID: "d", KeepLastIfActive: true},
	}
	// What becomes of the second add: yields, replaces the first, is added, or is kept for later.
	want := map[string]map[string]string{
		"delayed":   {"simple": "yields", "throttle": "yields", "extend": "yields", "debounce": "replaces", "keep last": "yields"},
		"waiting":   {"simple": "yields", "throttle": "yields", "extend": "yields", "debounce": "yields", "keep last": "yields"},
		"active":    {"simple": "yields", "throttle": "yields", "extend": "yields", "debounce": "yields", "keep last": "kept"},
		"completed": {"simple": "added", "throttle": "yields", "extend": "yields", "debounce": "yields", "keep last": "added"},
	}
	for state, byMode := range want {
		for mode, outcome := range byMode {
			t.Run(state+" "+mode, func(t *testing.T) {
				t.Parallel()
				k := newKit(t, testredis.Any(t))
				m, err := NewManual(k.client, "greetings")
				require.NoError(t, err)
				defer func() { require.NoError(t, m.Close()) }()
				options := []AddOption{Deduplicate(modes[mode])}
				if state == "delayed" {
					options = append(options, Delay(time.Hour))
				}
				first := k.add("first", options...)
				var held *ActiveJob
				if state == "active" || state == "completed" {
					held, err = m.Take(k.ctx)
					require.NoError(t, err)
				}
				if state == "completed" {
					require.NoError(t, m.Finish(k.ctx, held, 1, nil))
				}
				k.shortenDedup(modes[mode])
				second := k.add("second", options...)
				require.Equal(t, outcome == "yields" || outcome == "kept", second.Existing)
				k.dedupTold(mode, outcome, first.ID, second.ID)
				switch outcome {
				case "yields", "kept":
					require.Equal(t, first.ID, second.ID)
					kept := k.server.Client(t).Exists(k.ctx, "bull:greetings:dn:d").Val()
					require.Equal(t, outcome == "kept", kept == 1, "it is kept only while the first one runs")
				case "replaces":
					_, err := k.client.Queue("greetings").Job(k.ctx, first.ID)
					require.ErrorIs(t, err, ErrJobNotFound)
				}
				if outcome == "kept" {
					require.NoError(t, m.Finish(k.ctx, held, 1, nil))
					next, err := m.Take(k.ctx)
					require.NoError(t, err)
					require.JSONEq(t, `{"name":"second"}`, string(next.Record().Data))
				}
			})
		}
	}
}

// shortenDedup leaves of an id's time a minute, so that a new hour can be told.
func (k *kit) shortenDedup(d Dedup) {
	k.Helper()
	if d.TTL > 0 {
		require.True(k, k.server.Client(k).PExpire(k.ctx, "bull:greetings:de:d", time.Minute).Val())
	}
}

// dedupTold checks the event of an add that yielded or replaced, and the time
// that its id is held for.
func (k *kit) dedupTold(mode, outcome, first, second string) {
	k.Helper()
	var want []map[string]string
	switch {
	case outcome == "replaces":
		want = []map[string]string{{"jobId": second, "deduplicationId": "d", "deduplicatedJobId": first}}
	case outcome != "added" && mode != "debounce": // peers say nothing of one that finds nothing to replace
		want = []map[string]string{{"jobId": first, "deduplicationId": "d", "deduplicatedJobId": "2"}}
	}
	events, err := k.store.ReadEvents(k.ctx, "greetings", "", 0)
	require.NoError(k, err)
	var got []map[string]string
	for _, e := range events {
		if e.Name == "deduplicated" {
			got = append(got, e.Fields)
		}
	}
	require.Equal(k, want, got)
	if ttl := k.server.Client(k).PTTL(k.ctx, "bull:greetings:de:d").Val(); mode == "extend" || outcome == "replaces" {
		require.Greater(k, ttl, time.Minute, "its time begins anew")
	} else {
		require.LessOrEqual(k, ttl, time.Minute, "its time goes on")
	}
}

// C067: delayed jobs are promoted while a limit is in force, and the end of a
// limit is noticed.
func TestC067DelayedJobsDuringARateLimit(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	k.worker(hello, Limit(1, time.Hour), MaxLimitDelay(20*time.Millisecond))
	k.result(k.add("uses it up"))
	h := k.add("delayed", Delay(time.Millisecond))
	k.until("it is promoted", func() bool { s, err := h.State(k.ctx); return err == nil && s == StateWaiting })
	require.NoError(t, k.client.Queue("greetings").RateLimit(k.ctx, 0))
	require.Equal(t, "hello delayed", k.result(h).Text)
}

// C101: names and ids that would break keys are refused before anything is written.
func TestC101Colons(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	_, err := k.client.Queue("a:b").Add(k.ctx, "x", 1)
	require.ErrorContains(t, err, "colon")
	_, err = NewWorker(k.client, &QueueSpec{Name: "a:b"})
	require.ErrorContains(t, err, "colon")
	_, err = k.task.Add(k.ctx, k.client, greet{Name: "x"}, JobID("x:y"))
	require.ErrorContains(t, err, `"x-y"`, "the cure is in the message")
	require.Empty(t, k.server.Client(t).Keys(k.ctx, "*").Val())
}

// C107: no delay is no detour, equal times keep their order, long ones their milliseconds.
func TestC107Delays(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	for name, o := range map[string]AddOption{"none": Delay(0), "less than a millisecond": Delay(time.Microsecond), "a time that passed": RunAt(time.Now().Add(-time.Hour))} {
		state, err := k.add(name, o).State(k.ctx)
		require.NoError(t, err)
		require.Equal(t, StateWaiting, state, name)
	}
	_, err := k.task.Add(k.ctx, k.client, greet{Name: "x"}, Delay(-time.Second))
	require.ErrorContains(t, err, "negative")
	_, err = k.task.Add(k.ctx, k.client, greet{Name: "x"}, Delay(math.MaxInt64))
	require.ErrorContains(t, err, "200 years")

	made := time.UnixMilli(1700000000123)
	h := k.add("ten years", Timestamp(made), Delay(10*365*24*time.Hour))
	score := k.server.Client(t).ZScore(k.ctx, "bull:greetings:delayed", h.ID).Val()
	require.Equal(t, made.Add(10*365*24*time.Hour).UnixMilli(), int64(score)/4096)
	require.NoError(t, k.client.Queue("greetings").Remove(k.ctx, h.ID, WithChildren()))

	ps := make([]greet, 1000)
	for i := range ps {
		ps[i].Name = fmt.Sprintf("%04d", i)
	}
	at := time.Now().Add(time.Hour)
	_, err = k.task.AddMany(k.ctx, k.client, ps, Timestamp(at.Add(-2*time.Hour)), Delay(time.Hour))
	require.NoError(t, err)
	var seen recorder
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		if len(job.Data.Name) == 4 && job.Data.Name != "none" {
			seen.note(job.Data.Name)
		}
		return hello(ctx, job)
	})
	k.settled(map[State]int{StateCompleted: 1003})
	require.IsIncreasing(t, seen.all())
	require.Len(t, seen.all(), 1000)
}

// failedJob is a job of the kit's queue that failed once, when it ran first; its
// worker is paused.
func (k *kit) failedJob(runs *atomic.Int32) (*JobHandle[greeting], *Worker) {
	k.Helper()
	w := k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		runs.Add(1)
		if job.Starts == 1 {
			return greeting{}, errors.New("no")
		}
		return hello(ctx, job)
	})
	h := k.add("a", Attempts(1))
	_, err := h.Result(k.ctx)
	require.ErrorIs(k, err, ErrJobFailed)
	w.Pause()
	return h, w
}

// C109: of many who retry one job, one does. It is as if it had never ended, but
// for its attempts, which are counted on.
func TestC109OneRetries(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	q := k.client.Queue("greetings")
	var runs, wins atomic.Int32
	h, w := k.failedJob(&runs)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			switch err := q.Retry(k.ctx, h.ID); {
			case err == nil:
				wins.Add(1)
			case !errors.Is(err, ErrNotInState):
				k.Errorf("retry: %v", err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, wins.Load())
	require.Equal(t, map[State]int{StateWaiting: 1}, k.counts())
	r := k.record(h.ID)
	require.Empty(t, r.FailedReason)
	require.True(t, r.FinishedOn.IsZero())
	require.True(t, r.ProcessedOn.IsZero())
	require.Equal(t, []int{1, 1}, []int{r.AttemptsMade, r.AttemptsStarted})
	require.NoError(t, w.Resume())
	k.settled(map[State]int{StateCompleted: 1})
	require.Equal(t, 2, k.record(h.ID).AttemptsMade, "attempts are counted on")
	require.ErrorIs(t, q.Retry(k.ctx, h.ID), ErrNotInState)
	require.NoError(t, q.RetryWith(k.ctx, h.ID, RetryRequest{State: StateCompleted, ResetMade: true, ResetStarted: true}))
	k.settled(map[State]int{StateFailed: 1}) // it is as new: its first start fails
	require.Equal(t, 1, k.record(h.ID).AttemptsMade)
	require.EqualValues(t, 3, runs.Load())
}

// C109: many who retry one job while it is removed: it runs once or not at all.
func TestC109RetryRace(t *testing.T) {
	t.Parallel()
	for range 20 {
		k := newKit(t, testredis.Any(t))
		q := k.client.Queue("greetings")
		var runs, wins atomic.Int32
		h, w := k.failedJob(&runs)
		var all sync.WaitGroup
		begin := make(chan struct{})
		for i := range 21 {
			all.Go(func() {
				<-begin // whoever was started last would be the first
				if i == 20 {
					err := q.Remove(k.ctx, h.ID, WithChildren())
					require.True(k, err == nil || errors.Is(err, ErrLocked), err)
					return
				}
				switch err := q.Retry(k.ctx, h.ID); {
				case err == nil:
					wins.Add(1)
				case !errors.Is(err, ErrNotInState) && !errors.Is(err, ErrJobNotFound):
					k.Errorf("retry: %v", err)
				}
			})
		}
		close(begin)
		all.Wait()
		require.LessOrEqual(t, wins.Load(), int32(1))
		require.Empty(t, k.counts(), "it was removed, also after it was retried")
		require.NoError(t, w.Resume())
		require.EqualValues(t, 1, runs.Load())
	}
}
