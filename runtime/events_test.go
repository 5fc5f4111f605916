package bullmq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// follow collects events until n came, beside the test.
func follow(k *kit, q *Queue, n int, opts ...EventsOption) <-chan []Event {
	k.Helper()
	done := make(chan []Event, 1)
	go func() {
		var all []Event
		ctx, cancel := context.WithCancel(k.ctx)
		defer cancel()
		for e, err := range q.Events(ctx, opts...) {
			if err != nil {
				continue
			}
			if all = append(all, e); len(all) == n {
				break
			}
		}
		done <- all
	}()
	return done
}

func names(events []Event) []string {
	out := make([]string, len(events))
	for i, e := range events {
		out[i] = fmt.Sprintf("%T %s", e, e.JobID())[len("bullmq."):]
	}
	return out
}

func TestEventsAreTyped(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	q := k.client.Queue("greetings")
	h := k.add("ann", Attempts(2), Delay(time.Millisecond))
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		if job.Attempt == 1 {
			return greeting{}, errors.New("not yet")
		}
		if err := job.UpdateProgress(ctx, 42); err != nil {
			return greeting{}, err
		}
		return hello(ctx, job)
	})
	k.result(h)
	require.NoError(t, q.Publish(k.ctx, "tea", 0, "time", "now"))
	require.NoError(t, q.Pause(k.ctx))
	all := <-follow(k, q, 11, EventsAfter(""))
	require.Equal(t, []string{
		"AddedEvent 1", "DelayedEvent 1", "WaitingEvent 1", "ActiveEvent 1", "WaitingEvent 1", "ActiveEvent 1",
		"ProgressEvent 1", "CompletedEvent 1", "DrainedEvent ", "CustomEvent ", "PausedEvent ",
	}, names(all))
	require.Equal(t, "greet", all[0].(AddedEvent).Name)
	require.WithinDuration(t, time.Now(), all[1].(DelayedEvent).Due, patience)
	require.Equal(t, StateDelayed, all[2].(WaitingEvent).Prev)
	require.JSONEq(t, "42", string(all[6].(ProgressEvent).Data))
	require.JSONEq(t, `{"text":"hello ann","attempt":2}`, string(all[7].(CompletedEvent).Value))
	custom := all[9].(CustomEvent)
	require.Equal(t, "tea", custom.Name)
	require.Equal(t, "now", custom.Fields["time"])
	after := <-follow(k, q, 1, EventsAfter(all[8].EventID()))
	require.Equal(t, []string{"CustomEvent "}, names(after))
	require.ErrorContains(t, q.Publish(k.ctx, "completed", 0), "queue's own")
	require.ErrorContains(t, q.Publish(k.ctx, "tea", 0, "odd"), "pairs")
}

// C071: a reader that was cut off goes on where it was: nothing lost, nothing twice.
func TestC071EventsSurviveAnOutage(t *testing.T) {
	t.Parallel()
	server := testredis.Start(t)
	link := testredis.Proxy(t, server.Addr())
	k := newKitAt(t, server, link.URL())
	direct := newKit(t, server)
	q := k.client.Queue("greetings")
	direct.add("first")
	const n = 200
	got := follow(k, q, 4*n, EventsAfter("")) // of each job four, and some of the queue
	direct.worker(hello, Concurrency(4))
	for i := range n {
		switch {
		case i == 60: // away for a while
			link.Refuse(true)
			link.Cut()
		case i == 140:
			link.Refuse(false)
		case i%40 == 10:
			link.Cut()
		}
		direct.add(fmt.Sprint(i))
	}
	direct.settled(map[State]int{StateCompleted: n + 1})
	all, err := direct.store.ReadEvents(direct.ctx, "greetings", "", 0)
	require.NoError(t, err)
	require.Greater(t, len(all), 4*n)
	seen := <-got
	require.Len(t, seen, 4*n)
	for i, e := range seen {
		require.Equal(t, all[i].Cursor, e.EventID(), "event %d: nothing is lost, and nothing comes twice", i)
	}
}

func TestLostEventsAreTold(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	q := k.client.Queue("greetings")
	k.add("a")
	r := &eventReader{queue: q}
	EventsAfter("")(r)
	read := func() (told bool) {
		ok, err := r.read(k.ctx, func(_ Event, err error) bool {
			told = told || errors.Is(err, ErrEventsLost)
			return true
		})
		require.True(t, ok)
		require.NoError(t, err)
		return told
	}
	require.False(t, read())
	k.add("b")
	r.last = time.Now().Add(-time.Minute)
	require.False(t, read(), "everything is still there")
	rdb := k.server.Client(t)
	require.NoError(t, rdb.XTrimMaxLen(k.ctx, "bull:greetings:events", 0).Err())
	k.add("c")
	r.last = time.Now().Add(-time.Minute)
	require.True(t, read())
}

// awaited reports whether somebody waits for a job's result, and is told of all events.
func (k *kit) awaited(id string) bool {
	k.client.mu.Lock()
	defer k.client.mu.Unlock()
	w := k.client.watchers[k.queue.Name]
	if w == nil {
		return false
	}
	select {
	case <-w.begun:
	default:
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.subs[id]) == 1
}

func TestResultsOfRemovedAndUnkeptJobs(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	q := k.client.Queue("greetings")
	h := k.add("a")
	waiting := make(chan error, 1)
	go func() {
		_, err := h.Result(k.ctx)
		waiting <- err
	}()
	k.until("somebody waits", func() bool { return k.awaited(h.ID) })
	require.NoError(t, q.Remove(k.ctx, h.ID, WithChildren()))
	require.ErrorIs(t, <-waiting, ErrJobNotFound)
	_, err := k.task.JobHandle(k.client, "never").Result(k.ctx)
	require.ErrorIs(t, err, ErrJobNotFound)

	h = k.add("b", KeepCompleted(KeepNone()))
	go func() {
		r, err := h.Result(k.ctx)
		if err == nil && r.Text != "hello b" {
			err = errors.New(r.Text)
		}
		waiting <- err
	}()
	k.until("somebody waits", func() bool { return k.awaited(h.ID) })
	k.worker(hello)
	require.NoError(t, <-waiting, "a job that is removed at once still gives its result to who waits")

	ctx, cancel := context.WithCancel(k.ctx)
	cancel()
	_, err = k.task.JobHandle(k.client, "x").Result(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, k.client.Close())
	_, err = k.add("c").Result(k.ctx)
	require.ErrorIs(t, err, ErrClosed)
}

func TestResultsOfPeersMustFit(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	task := NewTask[greet, json.RawMessage](Spec{Queue: k.queue, Name: "greet"}, nil)
	w, err := NewWorker(k.client, k.queue)
	require.NoError(t, err)
	task.Handle(w, func(context.Context, *Job[greet]) (json.RawMessage, error) { return json.RawMessage(`{"text":5}`), nil })
	require.NoError(t, w.Start(k.ctx))
	_, err = k.add("a").Result(k.ctx)
	require.ErrorContains(t, err, "at $.text: a JSON number does not fit string")
	require.NoError(t, w.Stop(k.ctx))
}

func TestPrometheusText(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	k.worker(hello, Metrics(10))
	k.result(k.add("a"))
	text, err := k.client.Queue("greetings").Prometheus(k.ctx, "env", `a"b`)
	require.NoError(t, err)
	require.Contains(t, text, "bullmq_job_count{queue=\"greetings\", state=\"completed\", env=\"a\\\"b\"} 1\n")
	require.Contains(t, text, "bullmq_job_completed_total{queue=\"greetings\", env=\"a\\\"b\"} 1\n")
	require.Contains(t, text, "bullmq_job_failed_total{queue=\"greetings\", env=\"a\\\"b\"} 0")
	_, err = k.client.Queue("greetings").Prometheus(k.ctx, "odd")
	require.Error(t, err)
}

// C085: a limit of events that a peer chose stays, and one that is given is set, zero included.
func TestC085EventLimits(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	rdb := k.server.Client(t)
	rdb.HSet(k.ctx, "bull:greetings:meta", "opts.maxLenEvents", "77", "version", "bullmq:6.7.0")
	k.add("a")
	meta, err := k.client.Queue("greetings").Meta(k.ctx)
	require.NoError(t, err)
	require.Equal(t, 77, meta.MaxEvents)
	require.Equal(t, "bullmq:6.7.0", meta.Version)
	q := k.client.Queue("greetings")
	require.NoError(t, q.Remove(k.ctx, "1", WithChildren()), "its event says that it was removed")
	before := rdb.XLen(k.ctx, "bull:greetings:events").Val()
	require.EqualValues(t, 3, before)
	for range 10 {
		require.NoError(t, q.Remove(k.ctx, "unknown", WithChildren()))
	}
	require.Equal(t, before, rdb.XLen(k.ctx, "bull:greetings:events").Val(), "what does nothing emits nothing")
	k.client, err = NewClient(k.store, MaxEvents(0))
	require.NoError(t, err)
	k.add("b")
	require.Equal(t, "0", rdb.HGet(k.ctx, "bull:greetings:meta", "opts.maxLenEvents").Val())
}

// C085: whatever emits events keeps to the limit, about: Redis drops whole
// nodes of a hundred.
func TestC085EventsAreTrimmed(t *testing.T) {
	t.Parallel()
	for _, most := range []int{0, 100} {
		k := newKit(t, testredis.Any(t), MaxEvents(most))
		rdb, q := k.server.Client(t), k.client.Queue("greetings")
		kept := func(what string) {
			t.Helper()
			n := rdb.XLen(k.ctx, "bull:greetings:events").Val()
			require.LessOrEqual(t, n, int64(most+200), what)
			if most > 0 {
				require.Positive(t, n, what)
			}
		}
		many := make([]greet, 500)
		for i := range many {
			many[i].Name = fmt.Sprint(i)
		}
		for what, opts := range map[string][]Option{
			"plain": nil, "prioritized": {Priority(3)}, "delayed": {Delay(time.Hour)},
		} {
			_, err := k.task.AddMany(k.ctx, k.client, many, opts...)
			require.NoError(t, err)
			kept("adding many that are " + what)
		}
		for range 300 {
			k.add("one")
		}
		kept("adding one by one")
		require.NoError(t, q.PromoteAll(k.ctx))
		kept("promoting")
		w := k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
			if job.Data.Name == "one" && job.Attempt == 1 {
				return greeting{}, errors.New("no")
			}
			return hello(ctx, job)
		}, Concurrency(50))
		k.settled(map[State]int{StateCompleted: 1500, StateFailed: 300})
		kept("working")
		require.NoError(t, w.SetConcurrency(1))
		_, err := k.task.AddMany(k.ctx, k.client, many)
		require.NoError(t, err)
		k.settled(map[State]int{StateCompleted: 2000, StateFailed: 300})
		kept("working one by one")
		require.NoError(t, q.RetryAll(k.ctx, StateFailed))
		kept("retrying")
		h := k.add("progress", Delay(time.Hour))
		for n := range 300 {
			require.NoError(t, q.UpdateProgress(k.ctx, h.ID, n))
		}
		kept("progress")
	}
}

// Adds are checked as a whole before anything is written.
func TestNothingIsWrittenForRefusedJobs(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	_, err := k.task.Add(k.ctx, k.client, greet{}, Priority(-1), Delay(-time.Second), JobID("7"))
	for _, word := range []string{"add greetings/greet", "priority", "delay", "job id"} {
		require.ErrorContains(t, err, word)
	}
	_, err = k.task.AddMany(k.ctx, k.client, []greet{{Name: "ok"}, {Name: "\xff"}, {Name: "\xfe"}})
	var bulk *BulkError
	require.ErrorAs(t, err, &bulk)
	require.Len(t, bulk.Errs, 2)
	require.ErrorContains(t, err, "nothing was added")
	limited := NewTask[greet, greeting](Spec{Queue: k.queue, Name: "greet", SizeLimit: 10}, nil)
	_, err = limited.Add(k.ctx, k.client, greet{Name: "a long name"})
	require.ErrorContains(t, err, "limit of 10")
	require.Empty(t, k.server.Client(t).Keys(k.ctx, "*").Val())
}

func TestExistingJobsAreToldApart(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	first := k.add("a", JobID("mine"))
	again := k.add("b", JobID("mine"))
	require.False(t, first.Existing)
	require.True(t, again.Existing)
	require.Equal(t, "mine", again.ID)
	one := k.add("c", Deduplicate(Dedup{ID: "d"}))
	two := k.add("c", Deduplicate(Dedup{ID: "d"}))
	require.True(t, two.Existing)
	require.Equal(t, one.ID, two.ID)
	require.Equal(t, map[State]int{StateWaiting: 2}, k.counts())
}

func TestChildOfAMissingParent(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	_, err := k.task.Add(k.ctx, k.client, greet{Name: "child"}, ChildOf(Parent{Queue: "parents", ID: "nobody"}))
	require.ErrorIs(t, err, ErrNoParent)
	parent, err := k.client.Queue("parents").Add(k.ctx, "p", 1)
	require.NoError(t, err)
	h := k.add("child", ChildOf(Parent{Queue: "parents", ID: parent.ID, OnFail: OnFailIgnore}))
	r := k.record(h.ID)
	require.Equal(t, "bull:parents:"+parent.ID, r.ParentKey)
	require.JSONEq(t, `{"id":"`+parent.ID+`","queueKey":"bull:parents","idof":true}`, string(r.Parent))
	require.JSONEq(t, `{"attempts":0,"idof":true,"parent":{"id":"`+parent.ID+`","queue":"bull:parents"}}`, string(r.Opts))
	deps, err := k.client.Queue("parents").DependencyCounts(k.ctx, parent.ID)
	require.NoError(t, err)
	require.Equal(t, DependencyCounts{Pending: 1}, deps)
}
