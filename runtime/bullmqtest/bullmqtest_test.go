package bullmqtest_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/bullmqtest"

	"github.com/bullmq-gen/bullmq-gen/internal/testneed"
)

type welcome struct {
	User string `json:"user"`
}

var welcomeTask = bullmq.NewTask[welcome, int](bullmq.Spec{
	Queue: &bullmq.QueueSpec{Name: "mail"}, Name: "welcome",
}, nil)

func TestRequireEnqueued(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	ctx := context.Background()
	bullmqtest.RequireNotEnqueued(t, env, welcomeTask)
	_, err := welcomeTask.Add(ctx, env.Client, welcome{"ann"}, bullmq.Delay(time.Hour), bullmq.Attempts(4))
	require.NoError(t, err)
	_, err = env.Client.Queue("mail").Add(ctx, "another", 1)
	require.NoError(t, err)
	job := bullmqtest.RequireEnqueued(t, env, welcomeTask)
	require.Equal(t, "ann", job.Data.User)
	require.Equal(t, bullmq.StateDelayed, job.State)
	require.Equal(t, time.Hour, job.Options.Delay)
	require.Equal(t, 4, job.Options.Attempts)

	_, err = welcomeTask.Add(ctx, env.Client, welcome{"bob"})
	require.NoError(t, err)
	require.Len(t, bullmqtest.Jobs(t, env, welcomeTask), 2)
	failed := probe(t, func(tb testing.TB) { bullmqtest.RequireEnqueued(tb, env, welcomeTask) })
	require.True(t, failed)
	require.True(t, probe(t, func(tb testing.TB) { bullmqtest.RequireNotEnqueued(tb, env, welcomeTask) }))
}

func TestAdvance(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	w, err := bullmq.NewWorker(env.Client, welcomeTask.Spec().Queue)
	require.NoError(t, err)
	welcomeTask.Handle(w, func(context.Context, *bullmq.Job[welcome]) (int, error) { return 7, nil })
	ctx, cancel := context.WithTimeout(context.Background(), testneed.Patience)
	defer cancel()
	require.NoError(t, w.Start(ctx))
	defer func() { require.NoError(t, w.Stop(ctx)) }()
	h, err := welcomeTask.Add(ctx, env.Client, welcome{"ann"}, bullmq.Delay(24*time.Hour))
	require.NoError(t, err)
	env.Advance(t, 24*time.Hour, "mail")
	n, err := h.Result(ctx)
	require.NoError(t, err)
	require.Equal(t, 7, n)
}

func TestWork(t *testing.T) {
	t.Parallel()
	n, err := bullmqtest.Work(t, welcomeTask, func(_ context.Context, job *bullmq.Job[welcome]) (int, error) {
		return len(job.Data.User), nil
	}, welcome{"ann"})
	require.NoError(t, err)
	require.Equal(t, 3, n)
	_, err = bullmqtest.Work(t, welcomeTask, func(context.Context, *bullmq.Job[welcome]) (int, error) {
		return 0, errors.New("no")
	}, welcome{"ann"})
	require.ErrorIs(t, err, bullmq.ErrJobFailed)
	_, err = bullmqtest.Work(t, welcomeTask, func(context.Context, *bullmq.Job[welcome]) (int, error) {
		panic("oh")
	}, welcome{"ann"})
	require.ErrorContains(t, err, "panic: oh")
}

func TestWorkParent(t *testing.T) {
	t.Parallel()
	type results struct{ Letters []int }
	send := func(_ context.Context, job *bullmq.Job[welcome], in results) error {
		if len(in.Letters) < job.Attempt {
			return errors.New("no letters")
		}
		return nil
	}
	task := bullmq.NewTask[welcome, bullmq.None](welcomeTask.Spec(), nil)
	_, err := bullmqtest.WorkParent(t, task, bullmq.NoResultFlow(send), welcome{"ann"}, results{[]int{1}})
	require.NoError(t, err)
	_, err = bullmqtest.WorkParent(t, task, bullmq.NoResultFlow(send), welcome{"ann"}, results{})
	require.ErrorContains(t, err, "no letters")
	_, err = bullmqtest.WorkParent(t, task, bullmq.NoResultFlow(send), welcome{"ann"}, results{}, bullmq.Attempts(3))
	require.ErrorIs(t, err, bullmq.ErrJobFailed)
}

// probe runs a check that is to fail, and reports whether it did.
func probe(t *testing.T, check func(testing.TB)) (failed bool) {
	done := make(chan struct{})
	go func() { // Fatal ends its goroutine
		defer close(done)
		check(&quietTB{TB: t, failed: &failed})
	}()
	<-done
	return failed
}

type quietTB struct {
	testing.TB
	failed *bool
}

func (q *quietTB) Helper() {}

func (q *quietTB) Fatalf(string, ...any) {
	*q.failed = true
	runtime.Goexit()
}
