package bullmq

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

func TestManualTakesAndFinishes(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	m, err := NewManual(k.client, "greetings", WorkerName("hand"), LockDuration(time.Minute))
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Close() })
	_, err = m.TakeNow(k.ctx, 0)
	require.Error(t, err)
	jobs, err := m.TakeNow(k.ctx, 3)
	require.NoError(t, err)
	require.Empty(t, jobs)

	taken := make(chan *ActiveJob, 1)
	go func() {
		j, err := m.Take(k.ctx)
		if err == nil {
			taken <- j
		}
	}()
	h := k.add("ann", Delay(20*time.Millisecond), Attempts(3))
	job := <-taken
	require.Equal(t, h.ID, job.ID)
	typed, err := k.task.Decode(job)
	require.NoError(t, err)
	require.Equal(t, "ann", typed.Data.Name)
	require.NoError(t, m.Extend(k.ctx, job))
	require.NoError(t, job.UpdateProgress(k.ctx, 50))
	require.NoError(t, m.Finish(k.ctx, job, nil, errors.New("not yet")))
	require.ErrorIs(t, m.Finish(k.ctx, job, nil, nil), ErrLockLost, "it is finished once")

	job, err = m.Take(k.ctx)
	require.NoError(t, err)
	require.Equal(t, 2, job.Attempt)
	require.NoError(t, m.Finish(k.ctx, job, nil, DelayFor(time.Millisecond)))
	job, err = m.Take(k.ctx)
	require.NoError(t, err)
	require.Equal(t, 2, job.Attempt)
	require.Error(t, m.Finish(k.ctx, job, func() {}, nil), "a result without JSON form is refused, and the job is still held")
	require.NoError(t, m.Finish(k.ctx, job, greeting{Text: "by hand"}, nil))
	require.Equal(t, "by hand", k.result(h).Text)

	k.add("lost")
	job, err = m.Take(k.ctx)
	require.NoError(t, err)
	require.NoError(t, k.server.Client(t).Del(k.ctx, "bull:greetings:"+job.ID+":lock").Err())
	require.ErrorIs(t, m.Extend(k.ctx, job), ErrLockLost)
	require.ErrorIs(t, m.Finish(k.ctx, job, 1, nil), ErrLockLost)

	ctx, cancel := context.WithCancel(k.ctx)
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err = m.Take(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, m.Close())
	_, err = m.Take(k.ctx)
	require.Error(t, err)
}
