// Package behaviour runs what is generated for cases of the corpus on an
// embedded server.
package behaviour

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/bullmqtest"
)

// patience is how long something may take that is to happen.
const patience = 20 * time.Second

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// work starts a worker of the queue with what handle gives it.
func work(t *testing.T, env *bullmqtest.Env, q *bullmq.QueueSpec, handle func(w *bullmq.Worker), opts ...bullmq.WorkerOption) {
	t.Helper()
	w, err := bullmq.NewWorker(env.Client, q, opts...)
	require.NoError(t, err)
	handle(w)
	require.NoError(t, w.Start(context.Background()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, w.Stop(ctx))
	})
}

// reaches waits until the job is in the state.
func reaches(t *testing.T, env *bullmqtest.Env, queue, id string, want bullmq.State) *bullmq.Record {
	t.Helper()
	q := env.Client.Queue(queue)
	require.Eventually(t, func() bool {
		s, err := q.State(context.Background(), id)
		return err == nil && s == want
	}, patience, 2*time.Millisecond, "job %s of %s never was %s", id, queue, want)
	r, err := q.Job(context.Background(), id)
	require.NoError(t, err)
	return r
}

// options are those that a job is stored with.
func options(t *testing.T, r *bullmq.Record) bullmq.Options {
	t.Helper()
	o, err := bullmq.ParseOptions(r.Opts)
	require.NoError(t, err)
	return o
}
