package middleware_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/bullmqtest"
	"github.com/bullmq-gen/bullmq-gen/runtime/middleware"
)

var (
	queue = &bullmq.QueueSpec{Name: "q"}
	task  = bullmq.NewTask[int, string](bullmq.Spec{Queue: queue, Name: "t"}, nil)
)

// process adds a job and returns how it ended on a worker with the options.
func process(t *testing.T, h func(context.Context, *bullmq.Job[int]) (string, error), opts ...bullmq.WorkerOption) (string, error) {
	t.Helper()
	env := bullmqtest.Start(t)
	w, err := bullmq.NewWorker(env.Client, queue, opts...)
	require.NoError(t, err)
	task.Handle(w, h)
	require.NoError(t, w.Start(context.Background()))
	job, err := task.Add(context.Background(), env.Client, 1)
	require.NoError(t, err)
	result, failed := job.Result(context.Background())
	require.NoError(t, w.Stop(context.Background()))
	return result, failed
}

func TestLoggingLogsHowEachAttemptEnds(t *testing.T) {
	t.Parallel()
	for want, failed := range map[string]error{
		`level=INFO msg="job processed" queue=q job=t id=1 attempt=1 took=`:  nil,
		`level=WARN msg="attempt failed" queue=q job=t id=1 attempt=1 took=`: errors.New("no stock"),
	} {
		var lines bytes.Buffer
		log := slog.New(slog.NewTextHandler(&lines, nil))
		_, err := process(t, func(context.Context, *bullmq.Job[int]) (string, error) { return "", failed },
			bullmq.WorkerLogger(log), bullmq.WithHandleMiddleware(middleware.Logging()))
		require.Equal(t, failed != nil, err != nil)
		require.Contains(t, lines.String(), want)
		require.Equal(t, failed != nil, bytes.Contains(lines.Bytes(), []byte(`error="no stock"`)))
	}
}

func TestTimeoutEndsTheContextOfAHandler(t *testing.T) {
	t.Parallel()
	_, err := process(t, func(ctx context.Context, _ *bullmq.Job[int]) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	}, bullmq.WithHandleMiddleware(middleware.Timeout(time.Millisecond)))
	require.ErrorIs(t, err, bullmq.ErrJobFailed)
	require.ErrorContains(t, err, bullmq.ErrTimeout.Error())
}

func TestProfileLabelsNameTheQueueAndTheTask(t *testing.T) {
	t.Parallel()
	result, err := process(t, func(ctx context.Context, _ *bullmq.Job[int]) (string, error) {
		queue, _ := pprof.Label(ctx, "queue")
		task, _ := pprof.Label(ctx, "task")
		return queue + "/" + task, nil
	}, bullmq.WithHandleMiddleware(middleware.ProfileLabels()))
	require.NoError(t, err)
	require.Equal(t, "q/t", result)
}
