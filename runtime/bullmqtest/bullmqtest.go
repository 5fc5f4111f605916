// Package bullmqtest tests programs that add and handle jobs, with nothing to
// install: every test has a queue server of its own, inside the test.
//
//	env := bullmqtest.Start(t)
//	signUp(env.Client, "ann")                                      // the code under test
//	job := bullmqtest.RequireEnqueued(t, env, gen.SendWelcomeTask) // exactly one such job
//	require.Equal(t, "ann", job.Data.UserID)
//
// and for a handler, through the real way of a job:
//
//	receipt, err := bullmqtest.Work(t, gen.SendWelcomeTask, mailer{}.SendWelcome, tasks.SendWelcome{UserID: "ann"})
//
// WorkParent does the same for a handler that gets the results of children.
package bullmqtest

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/embedded"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
)

// patience is how long a test waits for something to happen.
const patience = 30 * time.Second

// Env is a queue server and a client of it, for one test.
type Env struct {
	// Client adds jobs, and workers are made from it. Its clock is the Env's.
	Client *bullmq.Client
	// Server is the in-process server; other programs reach it at Server.URL().
	Server *embedded.Server

	store *redisq.Store
	ahead atomic.Int64
}

// Start starts a server for the test, and stops it at its end. Workers made
// from its client log nothing.
func Start(t testing.TB) *Env {
	t.Helper()
	server, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	store, err := redisq.Open(server.URL(), redisq.Logger(quiet))
	if err != nil {
		t.Fatal(err)
	}
	env := &Env{Server: server, store: store}
	env.Client, err = bullmq.NewClient(store, bullmq.WithLogger(quiet), bullmq.WithClock(env.Now))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = env.Client.Close()
		_ = store.Close()
		_ = server.Close()
	})
	return env
}

// Now is the time by the Env's clock.
func (e *Env) Now() time.Time { return time.Now().Add(time.Duration(e.ahead.Load())) }

// Advance sets the Env's clock ahead by d: what becomes due until then becomes
// due now, and what expires until then, such as rate limits, is gone. Workers
// of the queues named look for jobs at once.
func (e *Env) Advance(t testing.TB, d time.Duration, queues ...string) {
	t.Helper()
	e.ahead.Add(int64(d))
	e.Server.FastForward(d)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, q := range queues {
		if err := e.store.Wake(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
}

// Enqueued is a job that was added and is not finished.
type Enqueued[P any] struct {
	ID    string
	State bullmq.State
	// Data is its payload.
	Data P
	// Options are those it was added with.
	Options bullmq.Options
	// Record is the job as it is stored.
	Record *bullmq.Record
}

// unfinished are the states of jobs that are not finished, oldest work first.
var unfinished = []bullmq.State{
	bullmq.StateActive, bullmq.StateWaiting, bullmq.StatePrioritized, bullmq.StateDelayed, bullmq.StateWaitingChildren,
}

// Jobs are the task's jobs that are not finished, those of its earlier names
// included. It fails the test when one has a payload that a handler would not get.
func Jobs[P, R any](t testing.TB, e *Env, task *bullmq.Task[P, R]) []*Enqueued[P] {
	t.Helper()
	if err := task.Err(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	spec := task.Spec()
	var found []*Enqueued[P]
	for _, state := range unfinished {
		records, err := e.Client.Queue(spec.Queue.Name).Jobs(ctx, state, 0, -1, bullmq.OldestFirst())
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			if r := &records[i]; spec.Handles(r.Name) {
				found = append(found, enqueued(t, task, state, r))
			}
		}
	}
	return found
}

func enqueued[P, R any](t testing.TB, task *bullmq.Task[P, R], state bullmq.State, r *bullmq.Record) *Enqueued[P] {
	t.Helper()
	data, err := task.DecodeRecord(r)
	if err != nil {
		t.Fatal(err)
	}
	options, err := bullmq.ParseOptions(r.Opts)
	if err != nil {
		t.Fatal(err)
	}
	return &Enqueued[P]{ID: r.ID, State: state, Data: data, Options: options, Record: r}
}

// RequireEnqueued returns the task's only job that is not finished, and fails
// the test when there is none or more than one.
func RequireEnqueued[P, R any](t testing.TB, e *Env, task *bullmq.Task[P, R]) *Enqueued[P] {
	t.Helper()
	jobs := Jobs(t, e, task)
	if len(jobs) != 1 {
		t.Fatalf("bullmqtest: %d jobs of task %s are enqueued, not 1", len(jobs), task.Spec().Name)
	}
	return jobs[0]
}

// RequireNotEnqueued fails the test when a job of the task is not finished.
func RequireNotEnqueued[P, R any](t testing.TB, e *Env, task *bullmq.Task[P, R]) {
	t.Helper()
	if jobs := Jobs(t, e, task); len(jobs) > 0 {
		t.Fatalf("bullmqtest: %d jobs of task %s are enqueued, none was expected", len(jobs), task.Spec().Name)
	}
}

// Work runs a handler once with a payload, on the real way of a job: it is
// added on a server of its own, taken by a worker, decoded, run, and its result
// read back. It returns what a caller of Handle.Result gets; a panic of the
// handler is a *bullmq.JobError too. Without options there is one attempt.
func Work[P, R any](t testing.TB, task *bullmq.Task[P, R], h func(context.Context, *bullmq.Job[P]) (R, error), p P, opts ...bullmq.AddOption) (R, error) {
	t.Helper()
	return work(t, task, h, func(ctx context.Context, c *bullmq.Client, opts ...bullmq.AddOption) (string, error) {
		handle, err := task.Add(ctx, c, p, opts...)
		if err != nil {
			return "", err
		}
		return handle.ID, nil
	}, opts)
}

// WorkStored is Work with a job as another program may have stored it: of any
// name that the task handles, such as one that it upgrades, and with any data,
// which is encoded as JSON. Use json.RawMessage for text that is stored as it is:
//
//	_, err := bullmqtest.WorkStored(t, gen.SendWelcomeTask, mailer{}.SendWelcome, "send-greeting", json.RawMessage(`{"user":"ann"}`))
func WorkStored[P, R any](t testing.TB, task *bullmq.Task[P, R], h func(context.Context, *bullmq.Job[P]) (R, error), name string, data any, opts ...bullmq.AddOption) (R, error) {
	t.Helper()
	return work(t, task, h, func(ctx context.Context, c *bullmq.Client, opts ...bullmq.AddOption) (string, error) {
		handle, err := c.Queue(task.Spec().Queue.Name).Add(ctx, name, data, opts...)
		if err != nil {
			return "", err
		}
		return handle.ID, nil
	}, opts)
}

// work runs a handler once with the job that add adds.
func work[P, R any](t testing.TB, task *bullmq.Task[P, R], h func(context.Context, *bullmq.Job[P]) (R, error), add func(context.Context, *bullmq.Client, ...bullmq.AddOption) (string, error), opts []bullmq.AddOption) (R, error) {
	t.Helper()
	if err := task.Err(); err != nil {
		t.Fatal(err)
	}
	env := Start(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	w, err := bullmq.NewWorker(env.Client, &bullmq.QueueSpec{Name: task.Spec().Queue.Name})
	if err != nil {
		t.Fatal(err)
	}
	task.Handle(w, h)
	if err := w.Start(ctx); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Stop(context.Background()) }()
	id, err := add(ctx, env.Client, append([]bullmq.AddOption{bullmq.Attempts(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return task.JobHandle(env.Client, id).Result(ctx)
}
