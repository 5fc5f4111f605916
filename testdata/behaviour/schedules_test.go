package behaviour

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	everygen "example.com/SchedulesOfEveryKind/gen"
	every "example.com/SchedulesOfEveryKind/tasks"
	plaingen "example.com/SchedulesOfPayloadsThatAreNoStructs/gen"
	plain "example.com/SchedulesOfPayloadsThatAreNoStructs/tasks"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/embedded"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
)

// driven is a client whose clock is moved by the test.
type driven struct {
	*bullmq.Client
	at atomic.Int64
}

func (d *driven) set(t time.Time) { d.at.Store(t.UnixMilli()) }

func drive(t *testing.T, at time.Time) *driven {
	t.Helper()
	server, err := embedded.Start()
	require.NoError(t, err)
	store, err := redisq.Open(server.URL())
	require.NoError(t, err)
	d := &driven{}
	d.set(at)
	d.Client, err = bullmq.NewClient(store, bullmq.WithClock(func() time.Time { return time.UnixMilli(d.at.Load()) }))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = d.Client.Close()
		_ = store.Close()
		_ = server.Close()
	})
	return d
}

// ids are the schedules of a queue, the next one first.
func (d *driven) ids(t *testing.T, queue string) []string {
	t.Helper()
	list, err := d.Queue(queue).Schedules(context.Background(), 0, -1)
	require.NoError(t, err)
	ids := []string{}
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ids
}

// run works the jobs of a queue that are due, and returns of each the schedule
// that made it, and when.
func (d *driven) run(t *testing.T, queue string) (ran []string) {
	t.Helper()
	ctx := deadline(t)
	m, err := bullmq.NewManual(d.Client, queue)
	require.NoError(t, err)
	defer func() { _ = m.Close() }()
	for {
		jobs, err := m.TakeNow(ctx, 10)
		require.NoError(t, err)
		if len(jobs) == 0 {
			return ran
		}
		for _, j := range jobs {
			ran = append(ran, j.ScheduleID)
			require.NoError(t, m.Finish(ctx, j, nil, nil))
		}
	}
}

func day(month time.Month, d, hour, minute int) time.Time {
	return time.Date(2026, month, d, hour, minute, 0, 0, time.UTC)
}

// Eight days in the life of a program that starts anew each hour.
func TestSchedulesThatAreEnsured(t *testing.T) {
	t.Parallel()
	d := drive(t, day(2, 27, 12, 0)) // a Friday
	ctx := deadline(t)
	ran := map[string]int{}
	for day(3, 7, 12, 0).UnixMilli() > d.at.Load() {
		require.NoError(t, everygen.EnsureSchedules(ctx, d.Client))
		for _, id := range append(d.run(t, every.Billing), d.run(t, "housekeeping")...) {
			ran[id]++
		}
		d.at.Add(time.Hour.Milliseconds())
	}
	require.Equal(t, map[string]int{
		"daily":    5,        // from Monday to Friday
		"monthly":  1,        // on 1 March
		"last day": 1,        // on 28 February
		"from":     2,        // from 1 March on, and no more, however often the program starts
		"often":    128,      // each 90 minutes of 191 hours, in its phase
		"sweep":    8*24 - 1, // each hour after the first
	}, ran)
}

func TestPayloadsOfSchedules(t *testing.T) {
	t.Parallel()
	d := drive(t, day(3, 2, 8, 30))
	ctx := deadline(t)
	require.NoError(t, everygen.EnsureSchedules(ctx, d.Client))
	for id, customer := range map[string]string{"daily": "all", "monthly": "month", "last day": "all", "often": "all", "from": "all"} {
		s, err := d.Queue(every.Billing).Schedule(ctx, id)
		require.NoError(t, err, id)
		require.JSONEq(t, `{"customer":"`+customer+`"}`, string(s.Data), id)
		require.Equal(t, "example.com/SchedulesOfEveryKind/tasks", s.Owner)
		r, err := d.Queue(every.Billing).Job(ctx, s.Next.JobID)
		require.NoError(t, err)
		p, err := everygen.InvoiceTask.DecodeRecord(r)
		require.NoError(t, err)
		require.Equal(t, every.Invoice{Customer: customer}, p)
	}
	s, err := d.Queue("housekeeping").Schedule(ctx, "sweep")
	require.NoError(t, err)
	require.Equal(t, 3, s.Options.Attempts, "what the task's directives say holds")
	require.Equal(t, day(3, 2, 9, 0), s.Next.At.UTC())

	require.NoError(t, plaingen.EnsureSchedules(ctx, d.Client))
	s, err = d.Queue("q").Schedule(ctx, "text")
	require.NoError(t, err)
	require.JSONEq(t, `"`+string(plain.Greeting)+`"`, string(s.Data))
	s, err = d.Queue("q").Schedule(ctx, "raw")
	require.NoError(t, err)
	require.JSONEq(t, `{"any":1}`, string(s.Data))
}

// A function that gives a payload, and fails.
func TestPayloadThatFails(t *testing.T) { //nolint:paralleltest // it changes a variable of the tasks
	d := drive(t, day(3, 2, 8, 30))
	all := every.AllCustomers
	defer func() { every.AllCustomers = all }()
	every.AllCustomers = every.Invoice{}
	err := everygen.EnsureSchedules(deadline(t), d.Client)
	require.ErrorContains(t, err, `schedule "last day" on queue "billing": payload: nobody`)
	require.ErrorContains(t, err, `schedule "from" on queue "billing": payload: nobody`)
	require.Empty(t, d.ids(t, every.Billing))
	require.Empty(t, d.ids(t, "housekeeping"), "nothing is stored")
}

func TestSchedulesThatArePruned(t *testing.T) {
	t.Parallel()
	d := drive(t, day(3, 2, 8, 30))
	ctx := deadline(t)
	// What the version before declared: another id, and a task that is gone, with its queue.
	gone := bullmq.NewTask[every.Sweep, bullmq.None](bullmq.Spec{Queue: &bullmq.QueueSpec{Name: "gone"}, Name: "gone"}, nil)
	before := bullmq.NewScheduleSet("example.com/SchedulesOfEveryKind/tasks",
		everygen.SweepTask.DeclareSchedule("hourly", bullmq.ScheduleSpec{Cron: "@hourly"}, nil),
		everygen.SweepTask.DeclareSchedule("sweep", bullmq.ScheduleSpec{Cron: "@daily"}, nil),
		gone.DeclareSchedule("gone", bullmq.ScheduleSpec{Every: time.Hour}, nil))
	require.NoError(t, before.Ensure(ctx, d.Client))
	_, err := d.Queue("housekeeping").UpsertSchedule(ctx, "by hand", bullmq.ScheduleSpec{Cron: "@monthly"}, "sweep", nil)
	require.NoError(t, err)

	require.NoError(t, everygen.EnsureSchedules(ctx, d.Client))
	require.Equal(t, []string{"hourly", "sweep", "by hand"}, d.ids(t, "housekeeping"))
	pruned, err := everygen.PruneSchedules(ctx, d.Client)
	require.NoError(t, err)
	require.Equal(t, []bullmq.ScheduleRef{{Queue: "gone", ID: "gone"}, {Queue: "housekeeping", ID: "hourly"}}, pruned)
	require.Equal(t, []string{"sweep", "by hand"}, d.ids(t, "housekeeping"))
	require.Empty(t, d.ids(t, "gone"))
	require.Len(t, d.ids(t, every.Billing), 5)
	pruned, err = everygen.PruneSchedules(ctx, d.Client)
	require.NoError(t, err)
	require.Empty(t, pruned)
}
