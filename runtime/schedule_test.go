package bullmq

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// handClock is a clock that a test moves.
type handClock struct{ at atomic.Int64 }

func (c *handClock) now() time.Time          { return time.UnixMilli(c.at.Load()) }
func (c *handClock) set(t time.Time)         { c.at.Store(t.UnixMilli()) }
func (c *handClock) forward(d time.Duration) { c.at.Add(d.Milliseconds()) }

// scheduleKit is a kit whose clock is moved by hand, and its queue.
type scheduleKit struct {
	*kit
	*handClock
	q *Queue
}

var noon = time.Date(2025, 6, 2, 12, 0, 0, 0, time.UTC) // a Monday

func newScheduleKit(t *testing.T) *scheduleKit {
	t.Helper()
	return newScheduleKitAt(t, testredis.Any(t))
}

func newScheduleKitAt(t *testing.T, s *testredis.Server) *scheduleKit {
	t.Helper()
	clock := &handClock{}
	clock.set(noon)
	k := newKit(t, s, WithClock(clock.now))
	return &scheduleKit{kit: k, handClock: clock, q: k.client.Queue(k.queue.Name)}
}

// schedule stores a schedule of greetings.
func (k *scheduleKit) schedule(id string, s ScheduleSpec, name string, opts ...Option) NextRun {
	k.Helper()
	run, err := k.q.UpsertSchedule(k.ctx, id, s, "greet", greet{Name: name}, opts...)
	require.NoError(k, err)
	return run
}

func (k *scheduleKit) info(id string) *ScheduleInfo {
	k.Helper()
	s, err := k.q.Schedule(k.ctx, id)
	require.NoError(k, err)
	return s
}

// dataOf is the name in the payload of a job.
func (k *scheduleKit) dataOf(id string) string {
	k.Helper()
	p, err := k.task.DecodeRecord(k.record(id))
	require.NoError(k, err)
	return p.Name
}

// take takes one job by hand, as any worker would.
func (k *scheduleKit) take() *ActiveJob {
	k.Helper()
	jobs, err := k.manual().TakeNow(k.ctx, 1)
	require.NoError(k, err)
	require.Len(k, jobs, 1)
	return jobs[0]
}

func (k *scheduleKit) finish(j *ActiveJob, err error) {
	k.Helper()
	require.NoError(k, k.manual().Finish(k.ctx, j, nil, err))
}

func TestScheduleSpecCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec  ScheduleSpec
		words string
	}{
		{ScheduleSpec{}, "neither a pattern nor an interval"},
		{ScheduleSpec{Cron: "* * * * *", Every: time.Second}, "both a pattern and an interval"},
		{ScheduleSpec{Cron: "0 0 30 2 *"}, "no date ever matches"},
		{ScheduleSpec{Cron: "61 * * * *"}, "61 is not from 0 to 59"},
		{ScheduleSpec{Cron: "* * * * *", TZ: "Mars/Base"}, "Mars/Base"},
		{ScheduleSpec{Cron: "* * * * *", TZ: "Local"}, "Local"},
		{ScheduleSpec{Cron: "* * * * *", Offset: time.Second}, "an offset is for intervals"},
		{ScheduleSpec{Cron: "* * * * *", Immediately: true, Start: noon.Add(time.Hour)}, "both run immediately and have a start"},
		{ScheduleSpec{Cron: "* * * * *", Limit: -1}, "limit"},
		{ScheduleSpec{Cron: "* * * * *", End: noon}, "has passed"},
		{ScheduleSpec{Cron: "* * * * *", Start: noon.Add(2 * time.Hour), End: noon.Add(time.Hour)}, "is after its end"},
		{ScheduleSpec{Every: -time.Second}, "above 0"},
		{ScheduleSpec{Every: time.Microsecond}, "whole number of milliseconds"},
		{ScheduleSpec{Every: 250 * 365 * 24 * time.Hour}, "200 years"},
		{ScheduleSpec{Every: time.Second, Offset: time.Second}, "less than the interval"},
		{ScheduleSpec{Every: time.Second, Offset: time.Millisecond, Immediately: true}, "at its offset"},
		{ScheduleSpec{Every: time.Second, TZ: "UTC"}, "a time zone is for patterns"},
	} {
		require.ErrorContains(t, c.spec.Check(noon), c.words, "%+v", c.spec)
	}
	for _, s := range []ScheduleSpec{
		{Cron: "0 9 * * MON-FRI", TZ: "europe/rome", Limit: 3, Start: noon.Add(-time.Hour), End: noon.Add(time.Hour)},
		{Every: time.Millisecond}, {Every: time.Hour, Offset: time.Minute, Start: noon}, {Cron: "@weekdays", Immediately: true}, {Every: time.Hour, Immediately: true},
	} {
		require.NoError(t, s.Check(noon), "%+v", s)
	}
	err := ScheduleSpec{Cron: "61 * * * *", TZ: "Mars/Base", Limit: -1}.Check(noon)
	require.ErrorContains(t, err, "61")
	require.ErrorContains(t, err, "Mars")
	require.ErrorContains(t, err, "limit", "all is in one error")
}

func TestScheduleRefusesAllAtOnce(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	good := Schedule{ID: "good", Spec: ScheduleSpec{Every: time.Hour}, Name: "greet"}
	_, err := k.q.UpsertSchedules(k.ctx, []Schedule{
		good,
		{Spec: ScheduleSpec{Every: time.Hour}, Name: "greet"},
		{ID: "a:1700000000000", Spec: ScheduleSpec{Every: time.Hour}, Name: "greet"},
		{ID: "b", Spec: ScheduleSpec{Every: time.Hour}},
		{ID: "c", Spec: ScheduleSpec{Every: time.Hour}, Name: "greet", Data: make(chan int)},
		{ID: "d", Spec: ScheduleSpec{Every: time.Hour}, Name: "greet", Options: []Option{Delay(time.Second)}},
		{ID: "e", Spec: ScheduleSpec{Every: time.Hour}, Name: "greet", Options: []Option{RunAt(noon)}},
		{ID: "f", Spec: ScheduleSpec{Every: time.Hour}, Name: "greet", Options: []Option{Priority(-1)}},
		{ID: "g", Spec: ScheduleSpec{Every: time.Hour}, Name: "greet", Data: "too much", Options: []Option{SizeLimit(3)}},
		{ID: "h", Spec: ScheduleSpec{Cron: "0 0 1 1 *", End: noon.Add(time.Hour)}, Name: "greet"},
		good,
	})
	for _, words := range []string{"a schedule needs an id", "must not end with a colon and a number", `"b"`, "need a name", "chan int", "no delay", `"e"`, "priority", "10 bytes", "no time left", "two of this id"} {
		require.ErrorContains(t, err, words)
	}
	require.ErrorIs(t, err, ErrScheduleEnded)
	n, err := k.q.CountSchedules(k.ctx)
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = k.client.Queue("a:b").UpsertSchedule(k.ctx, "x", ScheduleSpec{Every: time.Hour}, "greet", nil)
	require.ErrorContains(t, err, "colon")
	runs, err := k.q.UpsertSchedules(k.ctx, nil)
	require.NoError(t, err)
	require.Empty(t, runs)
}

// TestC091EverythingIsReadBack stores all there is and reads it.
func TestC091EverythingIsReadBack(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	start, end := noon.Add(time.Hour), noon.Add(30*24*time.Hour)
	weekly := ScheduleSpec{Cron: "0 9 * * MON", TZ: "Europe/Rome", Limit: 7, Start: start, End: end}
	run := k.schedule("weekly", weekly, "ann", Priority(3), Attempts(2))
	require.Equal(t, NextRun{"repeat:weekly:1749452400000", time.UnixMilli(1749452400000)}, run) // Monday, 9 June, 07:00 UTC
	half := ScheduleSpec{Every: time.Hour, Offset: 30 * time.Minute}
	k.schedule("half", half, "bob")
	k.schedule("now", ScheduleSpec{Every: time.Minute}, "cid")

	s := k.info("weekly")
	require.Equal(t, 1, s.Iterations)
	require.Equal(t, run, s.Next)
	require.JSONEq(t, `{"name":"ann"}`, string(s.Data))
	require.Equal(t, "greet", s.Name)
	require.Equal(t, 3, s.Options.Priority)
	require.Equal(t, 2, s.Options.Attempts)
	weekly.Start, weekly.End = time.UnixMilli(start.UnixMilli()), time.UnixMilli(end.UnixMilli())
	require.Equal(t, weekly, s.Spec)
	require.Equal(t, half, k.info("half").Spec)
	require.Equal(t, noon.Add(30*time.Minute).UnixMilli(), k.info("half").Next.At.UnixMilli())
	require.Equal(t, noon.UnixMilli(), k.info("now").Next.At.UnixMilli(), "an interval begins at once")

	list, err := k.q.Schedules(k.ctx, 0, -1)
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, []string{"now", "half", "weekly"}, []string{list[0].ID, list[1].ID, list[2].ID})
	list, err = k.q.Schedules(k.ctx, 1, 1)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, "half", list[0].ID)

	job := k.record(run.JobID)
	require.Equal(t, "weekly", job.ScheduleID)
	require.Equal(t, 3, job.Priority)
	require.JSONEq(t, `{"attempts":2,"priority":3,"timestamp":1748865600000,"repeatJobKey":"weekly","jobId":"repeat:weekly:1749452400000",
		"delay":586800000,"prevMillis":1749452400000,
		"repeat":{"count":1,"pattern":"0 9 * * MON","tz":"Europe/Rome","limit":7,"startDate":1748869200000,"endDate":1751457600000}}`, string(job.Opts))

	_, err = k.q.Schedule(k.ctx, "none")
	require.ErrorIs(t, err, ErrScheduleNotFound)
	require.ErrorContains(t, err, `"none"`)
	n, err := k.q.RemoveSchedules(k.ctx, "weekly", "none", "now")
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, map[State]int{StateDelayed: 1, StateWaiting: 1}, k.counts(), "a job that waits for a worker is left, and one that is delayed is not")
	_, err = k.q.Schedule(k.ctx, "weekly")
	require.ErrorIs(t, err, ErrScheduleNotFound)
}

func TestC047ZoneIsStored(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	run := k.schedule("plain", ScheduleSpec{Cron: "0 9 * * *"}, "x")
	require.Equal(t, "UTC", k.info("plain").Spec.TZ)
	require.Equal(t, 9, run.At.UTC().Hour(), "whatever the zone of this machine")
	run = k.schedule("berlin", ScheduleSpec{Cron: "0 9 * * *", TZ: "europe/berlin"}, "x")
	require.Equal(t, "Europe/Berlin", k.info("berlin").Spec.TZ)
	require.Equal(t, 7, run.At.UTC().Hour())
	require.Equal(t, 2, k.counts()[StateDelayed])
	require.NoError(t, k.q.PromoteAll(k.ctx)) // whoever takes a job goes by the zone that is stored
	taken := map[string]string{}
	for range 2 {
		j := k.take()
		taken[j.ScheduleID] = k.info(j.ScheduleID).Next.At.UTC().Format(time.DateTime)
	}
	require.Equal(t, map[string]string{"plain": "2025-06-04 09:00:00", "berlin": "2025-06-04 07:00:00"}, taken)
	_, err := k.q.UpsertSchedule(k.ctx, "mars", ScheduleSpec{Cron: "0 9 * * *", TZ: "Mars/Base"}, "greet", nil)
	require.ErrorContains(t, err, "Mars/Base")
	k.schedule("weekdays", ScheduleSpec{Cron: "@weekdays"}, "x")
	require.Equal(t, "0 0 * * 1-5", k.info("weekdays").Spec.Cron, "5.x peers do not know the name")
}

// TestC027ChangesApply changes a schedule while its next job is delayed, runs,
// or waits in a paused queue.
func TestC027ChangesApply(t *testing.T) {
	t.Parallel()
	changed := ScheduleSpec{Cron: "30 * * * *"}
	for name, prepare := range map[string]func(*scheduleKit) map[State]int{
		"delayed": func(*scheduleKit) map[State]int { return map[State]int{StateDelayed: 1} },
		"active": func(k *scheduleKit) map[State]int {
			k.forward(time.Hour)
			k.take()
			return map[State]int{StateActive: 1, StateDelayed: 1}
		},
		"waiting in a paused queue": func(k *scheduleKit) map[State]int {
			require.NoError(k, k.q.Pause(k.ctx))
			k.forward(time.Hour)
			require.NoError(k, k.q.PromoteAll(k.ctx))
			require.Equal(k, map[State]int{StateWaiting: 1}, k.counts())
			return map[State]int{StateDelayed: 1}
		},
		"prioritized": func(k *scheduleKit) map[State]int {
			k.schedule("s", ScheduleSpec{Cron: "0 * * * *"}, "one", Priority(5))
			k.forward(time.Hour)
			require.NoError(k, k.q.PromoteAll(k.ctx))
			require.Equal(k, map[State]int{StatePrioritized: 1}, k.counts())
			return map[State]int{StateDelayed: 1}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newScheduleKit(t)
			first := k.schedule("s", ScheduleSpec{Cron: "0 * * * *"}, "one")
			counts := prepare(k)
			iterations := k.info("s").Iterations
			run := k.schedule("s", changed, "two")
			require.Equal(t, 30, run.At.Minute())
			require.Equal(t, counts, k.counts(), "there is one job to come")
			require.Equal(t, "two", k.dataOf(run.JobID))
			require.Equal(t, iterations, k.info("s").Iterations, "jobs are counted on")
			if counts[StateActive] == 1 {
				require.Equal(t, "one", k.dataOf(first.JobID), "the job that runs keeps what it has")
			}
		})
	}
}

func TestC027IntervalsFollow(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	for _, seconds := range []int{8, 4, 9, 2, 3} {
		every := time.Duration(seconds) * time.Second
		run := k.schedule("s", ScheduleSpec{Every: every}, "x")
		require.Equal(t, k.now(), run.At, "a changed interval begins at once")
		for n := range 3 {
			j := k.take()
			require.Equal(t, run.At.Add(time.Duration(n)*every), k.now())
			k.finish(j, nil)
			require.Equal(t, run.At.Add(time.Duration(n+1)*every), k.info("s").Next.At)
			k.forward(every)
		}
		k.forward(1700 * time.Millisecond) // now one is late: the phase is kept
		k.finish(k.take(), nil)
		require.Zero(t, k.info("s").Next.At.Sub(run.At)%every)
		require.True(t, k.info("s").Next.At.After(k.now()))
	}
}

// TestMissedRuns: however long no worker was there, one run makes up for all.
func TestMissedRuns(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]ScheduleSpec{
		"pattern": {Cron: "*/10 * * * *"}, "interval": {Every: 10 * time.Minute, Start: noon.Add(10 * time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newScheduleKit(t)
			first := k.schedule("s", spec, "one")
			require.Equal(t, noon.Add(10*time.Minute).UnixMilli(), first.At.UnixMilli())
			k.forward(65 * time.Minute)
			require.NoError(t, k.q.PromoteAll(k.ctx)) // as a worker would that takes nothing

			again := spec
			again.Start = time.Time{}
			kept := k.schedule("s", again, "two")
			require.Equal(t, first, kept, "a program that starts now does not drop the run that is due")
			require.Equal(t, map[State]int{StateWaiting: 1}, k.counts())
			j := k.take()
			require.Equal(t, first.JobID, j.ID)
			require.Equal(t, "two", k.dataOf(j.ID))
			require.Equal(t, noon.Add(70*time.Minute).UnixMilli(), k.info("s").Next.At.UnixMilli())
			require.Equal(t, map[State]int{StateActive: 1, StateDelayed: 1}, k.counts())
		})
	}
}

func TestClockJumps(t *testing.T) {
	t.Parallel()
	t.Run("back", func(t *testing.T) {
		t.Parallel()
		k := newScheduleKit(t)
		k.schedule("s", ScheduleSpec{Cron: "*/10 * * * *"}, "x")
		k.forward(10 * time.Minute)
		require.NoError(t, k.q.PromoteAll(k.ctx))
		k.set(noon)
		k.finish(k.take(), nil)
		require.Equal(t, noon.Add(20*time.Minute).UnixMilli(), k.info("s").Next.At.UnixMilli(), "no time comes twice")
	})
	t.Run("far ahead and back", func(t *testing.T) {
		t.Parallel()
		for name, spec := range map[string]ScheduleSpec{"pattern": {Cron: "*/10 * * * *"}, "interval": {Every: 10 * time.Minute}} {
			k := newScheduleKit(t)
			k.forward(20 * 365 * 24 * time.Hour) // one program's clock is wrong
			k.schedule("s", spec, "x")
			if name == "interval" {
				k.finish(k.take(), nil)
			}
			k.set(noon)
			run := k.schedule("s", spec, "x")
			require.LessOrEqual(t, run.At.Sub(noon), 10*time.Minute, "%s: storing it again mends it", name)
			require.Greater(t, run.At.Sub(noon), time.Duration(0), name)
			require.Equal(t, 1, k.counts()[StateDelayed]+k.counts()[StateWaiting], name)
		}
	})
}

func TestUpsertsAtOnce(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			_, err := k.q.UpsertSchedule(k.ctx, "s", ScheduleSpec{Cron: "0 * * * *"}, "greet", greet{Name: fmt.Sprint(i)})
			require.NoError(t, err)
		})
	}
	all.Wait()
	require.Equal(t, map[State]int{StateDelayed: 1}, k.counts())
	n, err := k.q.CountSchedules(k.ctx)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, 1, k.info("s").Iterations)
	require.JSONEq(t, string(k.info("s").Data), fmt.Sprintf(`{"name":%q}`, k.dataOf(k.info("s").Next.JobID)), "what is stored is what will run")
}

func TestRemovalDuringARun(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	k.schedule("s", ScheduleSpec{Every: time.Minute}, "x")
	j := k.take()
	require.Equal(t, map[State]int{StateActive: 1, StateDelayed: 1}, k.counts())
	n, err := k.q.RemoveSchedules(k.ctx, "s")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, map[State]int{StateActive: 1}, k.counts())
	k.finish(j, nil)
	require.Equal(t, map[State]int{StateCompleted: 1}, k.counts())
	k.schedule("s", ScheduleSpec{Every: time.Minute}, "x")
	require.Equal(t, 1, k.info("s").Iterations, "it begins anew")
	require.Equal(t, noon.Add(time.Minute), k.info("s").Next.At.UTC(), "the time that was run is not run again")
}

// TestC091LimitAndEnd counts jobs, with workers that come and go.
func TestC091LimitAndEnd(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]ScheduleSpec{
		"limit": {Cron: "* * * * *", Limit: 3}, "limit of an interval": {Every: time.Minute, Start: noon.Add(time.Minute), Limit: 3},
		"end": {Cron: "* * * * *", End: noon.Add(3 * time.Minute)}, "end of an interval": {Every: time.Minute, Start: noon.Add(time.Minute), End: noon.Add(3 * time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newScheduleKit(t)
			k.schedule("s", spec, "x")
			for range 3 {
				k.forward(time.Minute)
				k.finish(k.take(), nil)
			}
			require.Equal(t, map[State]int{StateCompleted: 3}, k.counts())
			require.Equal(t, 3, k.info("s").Iterations)
			k.forward(time.Hour)
			jobs, err := k.manual().TakeNow(k.ctx, 1)
			require.NoError(t, err)
			require.Empty(t, jobs)
		})
	}
	k := newScheduleKit(t)
	run := k.schedule("s", ScheduleSpec{Cron: "* * * * * *", Start: noon.Add(5 * time.Second)}, "x")
	require.Equal(t, noon.Add(6*time.Second).UnixMilli(), run.At.UnixMilli())
	_, err := k.q.UpsertSchedule(k.ctx, "i", ScheduleSpec{Every: time.Hour, Offset: time.Minute, End: noon.Add(time.Second)}, "greet", nil)
	require.ErrorIs(t, err, ErrScheduleEnded)
	_, err = k.q.Schedule(k.ctx, "i")
	require.ErrorIs(t, err, ErrScheduleNotFound)
}

func TestScheduleImmediately(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	run := k.schedule("s", ScheduleSpec{Cron: "0 9 * * *", Immediately: true}, "x")
	require.Equal(t, noon.UnixMilli(), run.At.UnixMilli())
	require.Equal(t, run.JobID, k.take().ID)
	require.Equal(t, noon.Add(21*time.Hour).UnixMilli(), k.info("s").Next.At.UnixMilli())
}

// TestC097OnlyTheCurrentJobMakesTheNext retries an old one, and cleans.
func TestC097OnlyTheCurrentJobMakesTheNext(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	run := k.schedule("s", ScheduleSpec{Every: time.Minute}, "x")
	k.finish(k.take(), Unrecoverable(fmt.Errorf("no")))
	for range 5 {
		require.NoError(t, k.q.Retry(k.ctx, run.JobID))
		j := k.take()
		require.Equal(t, run.JobID, j.ID)
		k.finish(j, Unrecoverable(fmt.Errorf("no")))
		require.Equal(t, map[State]int{StateFailed: 1, StateDelayed: 1}, k.counts())
	}
	require.Equal(t, 2, k.info("s").Iterations)

	k.forward(time.Second)
	_, err := k.q.Clean(k.ctx, StateFailed, 0, 0)
	require.NoError(t, err)
	_, err = k.q.Clean(k.ctx, StateDelayed, 0, 0)
	require.NoError(t, err)
	require.NoError(t, k.q.Drain(k.ctx, WithDelayed()))
	require.Equal(t, map[State]int{StateDelayed: 1}, k.counts(), "the next job is spared")
	err = k.q.Remove(k.ctx, k.info("s").Next.JobID)
	require.ErrorIs(t, err, ErrScheduled)
	k.forward(time.Minute)
	k.finish(k.take(), nil)
	require.Equal(t, map[State]int{StateCompleted: 1, StateDelayed: 1}, k.counts())

	require.NoError(t, k.q.Obliterate(k.ctx))
	n, err := k.q.CountSchedules(k.ctx)
	require.NoError(t, err)
	require.Zero(t, n)
}

// TestTakenTimes: a job that stands where the next one is to be made does not end a schedule.
func TestTakenTimes(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]ScheduleSpec{"pattern": {Cron: "* * * * *"}, "interval": {Every: time.Minute, Start: noon.Add(time.Minute)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newScheduleKit(t)
			k.schedule("s", spec, "x")
			rdb := k.server.Client(t)
			squatter := fmt.Sprintf("bull:greetings:repeat:s:%d", noon.Add(2*time.Minute).UnixMilli())
			require.NoError(t, rdb.HSet(k.ctx, squatter, "name", "squatter").Err())
			k.forward(time.Minute)
			k.finish(k.take(), nil)
			require.Equal(t, noon.Add(3*time.Minute).UnixMilli(), k.info("s").Next.At.UnixMilli())
			require.Equal(t, "squatter", rdb.HGet(k.ctx, squatter, "name").Val())
		})
	}
	t.Run("a run that was promoted", func(t *testing.T) {
		t.Parallel()
		k := newScheduleKit(t)
		run := k.schedule("s", ScheduleSpec{Cron: "* * * * *"}, "one")
		require.NoError(t, k.q.Promote(k.ctx, run.JobID))
		k.finish(k.take(), nil) // early, and kept
		next := k.schedule("s", ScheduleSpec{Cron: "* * * * *"}, "two")
		require.Equal(t, noon.Add(2*time.Minute).UnixMilli(), next.At.UnixMilli(), "its time is not run again")
		require.Equal(t, "one", k.dataOf(run.JobID))
		require.Equal(t, map[State]int{StateCompleted: 1, StateDelayed: 1}, k.counts())
	})
	t.Run("a job that is to run anyway", func(t *testing.T) {
		t.Parallel()
		k := newScheduleKit(t)
		k.schedule("s", ScheduleSpec{Every: time.Minute}, "x")
		j := k.take()
		next := k.info("s").Next
		require.NoError(t, k.server.Client(t).ZAdd(k.ctx, "bull:greetings:repeat", redisZ("s", noon)).Err()) // as before it was taken
		out, err := k.store.AdvanceSchedules(k.ctx, "greetings", k.now(), []storage.Advance{{ID: "s", Job: j.ID, Next: storage.Iteration{Opts: []byte("{}")}}})
		require.NoError(t, err)
		require.Equal(t, next.JobID, out[0].ID)
		require.Equal(t, next, k.info("s").Next)
		require.Equal(t, map[State]int{StateActive: 1, StateDelayed: 1}, k.counts())
	})
}

// TestTaskSchedule makes schedules of typed payloads.
func TestTaskSchedule(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	typed := NewTask[greet, greeting](Spec{Queue: k.queue, Name: "greet", Attempts: 4}, func(p *greet) PayloadOptions {
		return PayloadOptions{JobID: p.Name, Dedup: p.Name, Delay: time.Hour, Priority: 2}
	})
	runs, err := k.q.UpsertSchedules(k.ctx, []Schedule{
		typed.NewSchedule("a", ScheduleSpec{Cron: "@hourly"}, greet{Name: "ann"}),
		typed.NewSchedule("b", ScheduleSpec{Every: time.Hour}, greet{Name: "bob"}, Attempts(1)),
	})
	require.NoError(t, err)
	require.Equal(t, "ann", k.dataOf(runs[0].JobID))
	require.Equal(t, 4, k.info("a").Options.Attempts)
	require.Equal(t, 2, k.record(runs[0].JobID).Priority)
	require.Equal(t, 1, k.info("b").Options.Attempts)
	require.Equal(t, StatePrioritized, k.state(runs[1].JobID), "the payload's delay does not count")
	_, err = k.q.UpsertSchedules(k.ctx, []Schedule{NewTask[greet, greeting](Spec{Queue: k.queue}, nil).NewSchedule("c", ScheduleSpec{Every: time.Hour}, greet{})})
	require.ErrorContains(t, err, "name of a task must not be empty")
}

func (k *scheduleKit) state(id string) State {
	k.Helper()
	s, err := k.q.State(k.ctx, id)
	require.NoError(k, err)
	return s
}

// TestSchedulesRun runs all of it on the servers that there are.
func TestSchedulesRun(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(testing.TB) *testredis.Server{"redis": testredis.Shared, "in-process": testredis.Mini} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, server(t))
			q := k.client.Queue("greetings")
			seen := &recorder{}
			_, err := q.UpsertSchedule(k.ctx, "fast", ScheduleSpec{Every: 40 * time.Millisecond, Limit: 5}, "greet", greet{Name: "ann"})
			require.NoError(t, err)
			k.worker(func(_ context.Context, j *Job[greet]) (greeting, error) {
				seen.note(j.ID + " " + j.Data.Name)
				return greeting{}, nil
			})
			k.until("five runs", func() bool { return len(seen.all()) == 5 })
			k.settled(map[State]int{StateCompleted: 5})
			for _, s := range seen.all() {
				require.True(t, strings.HasPrefix(s, "repeat:fast:") && strings.HasSuffix(s, " ann"), s)
			}
		})
	}
}
