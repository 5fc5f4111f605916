package bullmq_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testneed"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/bullmqtest"
)

// mailV1 is what jobs of the name "mail" have, mail what those of "mail-2" have.
type mailV1 struct {
	User string `json:"user"`
	Kind string `json:"kind,omitempty"`
}

func (p mailV1) Validate() error {
	if p.User == "nobody" {
		return errors.New("nobody gets no mail")
	}
	return nil
}

type mail struct {
	UserID string `json:"userId"`
	Urgent bool   `json:"urgent,omitempty"`
}

func (p mail) Validate() error {
	if p.UserID == "id-root" {
		return errors.New("root reads no mail")
	}
	return nil
}

func upgradeMail(old mailV1) (mail, error) {
	switch old.Kind {
	case "unknown":
		return mail{}, errors.New("no such kind of mail")
	case "panics":
		panic("a kind that panics")
	}
	return mail{UserID: "id-" + old.User, Urgent: old.Kind == "urgent"}, nil
}

var mailQueue = &bullmq.QueueSpec{Name: "mails", Tasks: []string{"mail-2"}}

var mailTask = bullmq.NewTask[mail, string](bullmq.Spec{
	Queue: mailQueue, Name: "mail-2", Aliases: []string{"letter"},
	Upgrades: []bullmq.Upgrade{
		bullmq.UpgradeFrom("mail", upgradeMail),
		bullmq.UpgradeFrom("mail-0", bullmq.NoError(func(user string) mail { return mail{UserID: user} })),
	},
}, func(p *mail) bullmq.PayloadOptions { return bullmq.PayloadOptions{Group: p.UserID} })

func sendMail(_ context.Context, job *bullmq.Job[mail]) (string, error) {
	return job.Name + " to " + job.Data.UserID, nil
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testneed.Patience)
	t.Cleanup(cancel)
	return ctx
}

// run starts a worker of the queue with what handle gives it.
func run(t *testing.T, env *bullmqtest.Env, q *bullmq.QueueSpec, handle func(*bullmq.Worker), opts ...bullmq.WorkerOption) {
	t.Helper()
	w, err := bullmq.NewWorker(env.Client, q, opts...)
	require.NoError(t, err)
	handle(w)
	require.NoError(t, w.Start(context.Background()))
	t.Cleanup(func() { require.NoError(t, w.Stop(soon(t))) })
}

// A job of an earlier name is run with what its payload is upgraded to, at each
// attempt, and stays in the storage what it was.
func TestJobsOfAnEarlierNameAreUpgraded(t *testing.T) {
	t.Parallel()
	env, ctx := bullmqtest.Start(t), soon(t)
	q := env.Client.Queue("mails")
	old := json.RawMessage(`{"user":"ann","kind":"urgent"}`)
	added, err := q.Add(ctx, "mail", old, bullmq.Attempts(2))
	require.NoError(t, err)
	listed := bullmqtest.RequireEnqueued(t, env, mailTask)
	require.Equal(t, mail{"id-ann", true}, listed.Data)

	var tries atomic.Int32
	run(t, env, mailQueue, func(w *bullmq.Worker) {
		mailTask.Handle(w, func(ctx context.Context, job *bullmq.Job[mail]) (string, error) {
			if tries.Add(1) == 1 {
				return "", errors.New("not yet")
			}
			require.True(t, job.Data.Urgent)
			return sendMail(ctx, job)
		})
	})
	result, err := mailTask.JobHandle(env.Client, added.ID).Result(ctx)
	require.NoError(t, err)
	require.Equal(t, "mail to id-ann", result)
	require.EqualValues(t, 2, tries.Load())
	record, err := q.Job(ctx, added.ID)
	require.NoError(t, err)
	require.Equal(t, "mail", record.Name)
	require.JSONEq(t, string(old), string(record.Data))

	fresh, err := mailTask.Add(ctx, env.Client, mail{UserID: "bob", Urgent: true})
	require.NoError(t, err)
	result, err = fresh.Result(ctx)
	require.NoError(t, err)
	require.Equal(t, "mail-2 to bob", result)
}

func TestEachEarlierNameHasItsUpgrade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ data, want string }{
		"mail":   {`{"user":"ann"}`, "mail to id-ann"},
		"mail-0": {`"ann"`, "mail-0 to ann"},
		"letter": {`{"userId":"ann"}`, "letter to ann"},
		"mail-2": {`{"userId":"ann"}`, "mail-2 to ann"},
	} {
		got, err := bullmqtest.WorkStored(t, mailTask, sendMail, name, json.RawMessage(c.data))
		require.NoError(t, err)
		require.Equal(t, c.want, got)
		spec := mailTask.Spec()
		require.True(t, spec.Handles(name))
		require.False(t, spec.Handles(name+"x"))
	}
}

// What goes wrong with an upgrade fails the job for good, and says why.
func TestUpgradesThatFail(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{}`:                               `payload of job "1", upgraded from "mail" to task "mail-2": at $.user: the payload lacks "user"`,
		`null`:                             "the payload is null",
		`{"user":1}`:                       "at $.user: a JSON number does not fit string",
		`{"user":"nobody"}`:                "nobody gets no mail",
		`{"user":"ann","kind":"unknown"}`:  `upgraded from "mail" to task "mail-2": no such kind of mail`,
		`{"user":"ann","kind":"panics"}`:   `the upgrade panicked: a kind that panics`,
		`{"user":"root","kind":"urgent"}`:  "root reads no mail",
		`{"userId":"ann","urgent":true}`:   `the payload lacks "user"`,
		`{"user":"ann","kind":["urgent"]}`: "at $.kind",
	} {
		t.Run(data, func(t *testing.T) {
			t.Parallel()
			env, ctx := bullmqtest.Start(t), soon(t)
			added, err := env.Client.Queue("mails").Add(ctx, "mail", json.RawMessage(data), bullmq.Attempts(3))
			require.NoError(t, err)
			run(t, env, mailQueue, func(w *bullmq.Worker) {
				mailTask.Handle(w, func(context.Context, *bullmq.Job[mail]) (string, error) {
					t.Error("the handler was called")
					return "", nil
				})
			})
			_, err = added.Result(ctx)
			require.ErrorIs(t, err, bullmq.ErrJobFailed)
			require.ErrorContains(t, err, want)
			record, err := env.Client.Queue("mails").Job(ctx, added.ID)
			require.NoError(t, err)
			require.Equal(t, 1, record.AttemptsMade)
			require.Equal(t, want == "the upgrade panicked: a kind that panics", strings.Contains(string(record.Stack), "upgradeMail"), string(record.Stack))
		})
	}
}

// A job that is upgraded keeps its payload: under its name a new one would be
// read as an old one.
func TestDataOfAnUpgradedJobIsNotReplaced(t *testing.T) {
	t.Parallel()
	replace := func(ctx context.Context, job *bullmq.Job[mail]) (string, error) {
		return "", job.UpdateData(ctx, mail{UserID: "new"})
	}
	_, err := bullmqtest.WorkStored(t, mailTask, replace, "mail", mailV1{User: "ann"}, bullmq.Attempts(2))
	require.ErrorContains(t, err, `it was upgraded from "mail"`)
	for _, name := range []string{"letter", "mail-2"} {
		_, err = bullmqtest.WorkStored(t, mailTask, replace, name, mail{UserID: "ann"})
		require.NoError(t, err)
	}
}

func TestUpgradesByHand(t *testing.T) {
	t.Parallel()
	env, ctx := bullmqtest.Start(t), soon(t)
	added, err := env.Client.Queue("mails").Add(ctx, "mail", mailV1{User: "ann"})
	require.NoError(t, err)
	m, err := bullmq.NewManual(env.Client, "mails")
	require.NoError(t, err)
	active, err := m.Take(ctx)
	require.NoError(t, err)
	job, err := mailTask.Decode(active)
	require.NoError(t, err)
	require.Equal(t, "id-ann", job.Data.UserID)
	require.Equal(t, "mail", job.Name)
	require.NoError(t, m.Finish(ctx, active, "done", nil))
	require.NoError(t, m.Close())
	result, err := mailTask.JobHandle(env.Client, added.ID).Result(ctx)
	require.NoError(t, err)
	require.Equal(t, "done", result)
}

// A schedule that was stored under an earlier name goes on.
func TestSchedulesOfAnEarlierName(t *testing.T) {
	t.Parallel()
	env, ctx := bullmqtest.Start(t), soon(t)
	seen := make(chan string, 10)
	run(t, env, mailQueue, func(w *bullmq.Worker) {
		mailTask.Handle(w, func(ctx context.Context, job *bullmq.Job[mail]) (string, error) {
			text, err := sendMail(ctx, job)
			seen <- text
			return text, err
		})
	})
	_, err := env.Client.Queue("mails").UpsertSchedule(ctx, "hourly", bullmq.ScheduleSpec{Every: time.Hour}, "mail", mailV1{User: "ann"})
	require.NoError(t, err)
	for range 2 {
		require.Equal(t, "mail to id-ann", <-seen)
		env.Advance(t, time.Hour, "mails")
	}
}

// The group of a job is that of the payload that it is upgraded to.
func TestGroupsOfUpgradedJobs(t *testing.T) {
	t.Parallel()
	env, ctx := bullmqtest.Start(t), soon(t)
	q := env.Client.Queue("mails")
	var handles []*bullmq.JobHandle[json.RawMessage]
	for range 2 {
		h, err := q.Add(ctx, "mail", mailV1{User: "ann"})
		require.NoError(t, err)
		handles = append(handles, h)
	}
	other, err := q.Add(ctx, "mail", mailV1{User: "bob"})
	require.NoError(t, err)
	run(t, env, mailQueue, func(w *bullmq.Worker) { mailTask.Handle(w, sendMail) }, bullmq.GroupLimit(1, time.Hour, nil))
	_, err = other.Result(ctx)
	require.NoError(t, err)
	_, err = handles[0].Result(ctx)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		s, err := q.State(ctx, handles[1].ID)
		return err == nil && s == bullmq.StateDelayed
	}, testneed.Patience, 2*time.Millisecond)
}

func TestUpgradesThatAreDeclaredWrongly(t *testing.T) {
	t.Parallel()
	up := func(name string) bullmq.Upgrade { return bullmq.UpgradeFrom(name, upgradeMail) }
	for want, spec := range map[string]bullmq.Spec{
		"cannot be upgraded from its own name":    {Name: "a", Upgrades: []bullmq.Upgrade{up("a")}},
		"is an alias":                             {Name: "a", Aliases: []string{"b"}, Upgrades: []bullmq.Upgrade{up("b")}},
		`"b" is upgraded twice`:                   {Name: "a", Upgrades: []bullmq.Upgrade{up("b"), up("b")}},
		"earlier name":                            {Name: "a", Upgrades: []bullmq.Upgrade{up("")}},
		"has a nil function":                      {Name: "a", Upgrades: []bullmq.Upgrade{bullmq.UpgradeFrom[mailV1, mail]("b", nil)}},
		`the upgrade from "b" has a nil function`: {Name: "a", Upgrades: []bullmq.Upgrade{bullmq.UpgradeFrom("b", bullmq.NoError[int, mail](nil))}},
		"does not make payloads of the task":      {Name: "a", Upgrades: []bullmq.Upgrade{bullmq.UpgradeFrom("b", bullmq.NoError(func(int) int { return 0 }))}},
	} {
		spec.Queue = &bullmq.QueueSpec{Name: "q"}
		require.ErrorContains(t, bullmq.NewTask[mail, string](spec, nil).Err(), want)
	}
	require.Equal(t, "b", up("b").From())

	env := bullmqtest.Start(t)
	w, err := bullmq.NewWorker(env.Client, mailQueue)
	require.NoError(t, err)
	mailTask.Handle(w, sendMail)
	other := bullmq.NewTask[mailV1, string](bullmq.Spec{Queue: mailQueue, Name: "mail"}, nil)
	other.Handle(w, func(context.Context, *bullmq.Job[mailV1]) (string, error) { return "", nil })
	require.ErrorContains(t, w.Start(context.Background()), `two handlers for task "mail"`)
}
