package bullmq

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	chainQueue = &QueueSpec{Name: "chain"}
	fetchTask  = NewTask[string, int](Spec{Queue: chainQueue, Name: "fetch"}, nil)
	sumTask    = NewJoinTask[int, string, int](Spec{Queue: chainQueue, Name: "sum"}, nil)
	sayTask    = NewChainTask[int, string, string](Spec{Queue: chainQueue, Name: "say"}, nil)
)

func (k *kit) workChain() {
	k.start(chainQueue, func(w *Worker) {
		fetchTask.Handle(w, func(_ context.Context, job *Job[string]) (int, error) {
			if job.Data == "bad" {
				return 0, errors.New("no such thing")
			}
			return len(job.Data), nil
		})
		sumTask.Handle(w, func(_ context.Context, job *Job[string], ns []int) (int, error) {
			sum := 0
			for i, n := range ns {
				sum += n * (i + 1)
			}
			return sum, nil
		})
		sayTask.Handle(w, func(_ context.Context, job *Job[string], n int) (string, error) {
			return fmt.Sprint(job.Data, " ", n), nil
		})
	}, Concurrency(4))
}

func TestChain(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	k.workChain()
	h, err := Then(ThenAll(Each(fetchTask, []string{"a", "bb", "ccc"}), sumTask, ""), sayTask, "sum", Attempts(2)).Add(k.ctx, k.client, JobID("one"))
	require.NoError(t, err)
	require.Equal(t, "one", h.ID)
	require.Equal(t, "sum 14", value(k, h))
	again, err := Then(Begin(fetchTask, "x"), sayTask, "other").Add(k.ctx, k.client, JobID("one"))
	require.NoError(t, err)
	require.True(t, again.Existing)
	require.Equal(t, 2, optionsOf(t, must(k.client.Queue("chain").Job(k.ctx, "one"))).Attempts)

	single, err := Begin(fetchTask, "four").Add(k.ctx, k.client)
	require.NoError(t, err)
	require.Equal(t, 4, value(k, single))
	none, err := ThenAll(nil, sumTask, "").Add(k.ctx, k.client)
	require.NoError(t, err)
	require.Equal(t, 0, value(k, none))
}

func optionsOf(t *testing.T, r *Record) Options {
	t.Helper()
	o, err := ParseOptions(r.Opts)
	require.NoError(t, err)
	return o
}

// A job that fails takes those after it with it: nobody waits for ever.
func TestChainFails(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	k.workChain()
	h, err := Then(ThenAll(Each(fetchTask, []string{"a", "bad"}), sumTask, ""), sayTask, "sum").Add(k.ctx, k.client)
	require.NoError(t, err)
	_, err = h.Result(k.ctx)
	require.ErrorIs(t, err, ErrJobFailed)
	var failed *JobError
	require.ErrorAs(t, err, &failed)
	require.True(t, strings.HasPrefix(failed.Reason, "child bull:chain:before.0.") && strings.HasSuffix(failed.Reason, " failed"), failed.Reason)
}

func TestChainProblems(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	_, err := Chain[int]{}.Add(k.ctx, k.client)
	require.ErrorContains(t, err, "it has no jobs")
	_, err = Then(Chain[int]{}, sayTask, "x").Add(k.ctx, k.client)
	require.ErrorIs(t, err, ErrIncompleteFlow)
	_, err = Begin(fetchTask, "x").Add(k.ctx, nil)
	require.ErrorContains(t, err, "no client")
	_, err = Then(Begin(fetchTask, "x", Priority(-1)), sayTask, "x").Add(k.ctx, k.client)
	require.ErrorContains(t, err, "bullmq: add a chain: say.before (chain/fetch): priority must be")
	require.Empty(t, k.server.Client(t).Keys(k.ctx, "*").Val())
}
