package bullmq

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

func TestQueueOperatesOnJobs(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	q := k.client.Queue("greetings")
	h := k.add("ann", Delay(time.Hour))
	n, err := q.DelayedBefore(k.ctx, time.Now().Add(2*time.Hour))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, q.ChangePriority(k.ctx, h.ID, 3))
	require.NoError(t, q.UpdateData(k.ctx, h.ID, greet{Name: "bob"}))
	require.NoError(t, q.UpdateProgress(k.ctx, h.ID, 7))
	lines, err := q.AddLog(k.ctx, h.ID, "one", 0)
	require.NoError(t, err)
	require.Equal(t, 1, lines)
	fin, err := q.Finished(k.ctx, h.ID)
	require.NoError(t, err)
	require.Empty(t, fin.State)
	require.NoError(t, q.Promote(k.ctx, h.ID))
	state, err := q.State(k.ctx, h.ID)
	require.NoError(t, err)
	require.Equal(t, StatePrioritized, state)
	counts, err := q.CountsByPriority(k.ctx, 0, 3)
	require.NoError(t, err)
	require.Equal(t, map[int]int{0: 0, 3: 1}, counts)
	jobs, err := q.Jobs(k.ctx, StatePrioritized, 0, -1, OldestFirst())
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"bob"}`, string(jobs[0].Data))
	require.Equal(t, "7", string(jobs[0].Progress))
	require.NoError(t, q.ClearLogs(k.ctx, h.ID, 0))

	k.worker(func(context.Context, *Job[greet]) (greeting, error) { return greeting{}, errors.New("no") })
	_, err = h.Result(k.ctx)
	require.ErrorIs(t, err, ErrJobFailed)
	require.ErrorIs(t, q.Retry(k.ctx, "nobody"), ErrJobNotFound)
	require.ErrorIs(t, q.Promote(k.ctx, h.ID), ErrNotInState)
	require.ErrorIs(t, q.UpdateProgress(k.ctx, "nobody", 1), ErrJobNotFound)
	_, err = q.Job(k.ctx, "nobody")
	require.ErrorIs(t, err, ErrJobNotFound)
	fin, err = q.Finished(k.ctx, h.ID)
	require.NoError(t, err)
	require.Equal(t, Finish{State: StateFailed, Reason: "no"}, fin)
	require.NoError(t, q.Remove(k.ctx, h.ID, WithChildren()))
	fin, err = q.Finished(k.ctx, h.ID)
	require.NoError(t, err)
	require.Equal(t, StateUnknown, fin.State)
}

// Bad input is one error that names all that is wrong, before anything is written.
func TestQueueRefusesBadInput(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	q := k.client.Queue("a:b")
	for what, err := range map[string]error{
		"colon":       q.Pause(k.ctx),
		"delay":       q.ChangeDelay(k.ctx, "x", -1),
		"priority":    q.ChangePriority(k.ctx, "x", -1),
		"rate limit":  q.SetGlobalRateLimit(k.ctx, RateLimit{Max: 1}),
		"concurrency": q.SetGlobalConcurrency(k.ctx, -1),
		"id":          q.Remove(k.ctx, "", WithChildren()),
		"state":       q.RetryAll(k.ctx, StateActive),
		"chan int":    q.UpdateData(k.ctx, "x", make(chan int)),
		"progress":    q.UpdateProgress(k.ctx, "x", make(chan int)),
		"limit is -1": second(q.Clean(k.ctx, StateFailed, 0, -1)),
		"is empty":    second(k.client.Queue("").Counts(k.ctx)),
	} {
		require.ErrorContains(t, err, what)
	}
	require.Empty(t, k.server.Client(t).Keys(k.ctx, "*").Val())
}

func second[T any](_ T, err error) error { return err }
