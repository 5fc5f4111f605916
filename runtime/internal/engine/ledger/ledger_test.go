package ledger

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// worker is a ledger, and a storage that gives it jobs with running numbers.
type worker struct {
	*testing.T
	*Ledger
	last int
}

func newWorker(t *testing.T, c Config) *worker {
	t.Helper()
	if c.MaxBatch == 0 {
		c.MaxBatch = 50
	}
	if c.Lanes == 0 {
		c.Lanes = 2
	}
	return &worker{T: t, Ledger: New(c)}
}

// gives answers the call of a batch with n jobs, and returns those to be started.
func (w *worker) gives(b *Batch, n int) []*Job {
	w.Helper()
	taken := &Taken{Now: time.Now()}
	for range n {
		w.last++
		j := &Job{}
		j.Begin(&storage.Record{ID: fmt.Sprint(w.last)}, "token", taken.Now, nil)
		taken.Run = append(taken.Run, j)
	}
	return w.RecordTaken(b, taken)
}

// takes lets a lane make one call that settles and takes the numbers given, and
// gets n jobs.
func (w *worker) takes(settle, take, n int) []*Job {
	w.Helper()
	var b Batch
	require.True(w, w.ClaimLane(), "there is something to send")
	require.True(w, w.Next(&b))
	require.Len(w, b.Settle, settle)
	require.Equal(w, take, b.Take)
	for _, j := range b.Settle {
		j.SetGone()
	}
	w.RecordSettled(b.Settle)
	run := w.gives(&b, n)
	for w.Next(&b) {
		require.Fail(w, "there is nothing else to send")
	}
	return run
}

// finishes lets handlers return.
func (w *worker) finishes(jobs ...*Job) {
	for _, j := range jobs {
		j.Outcome = storage.Settlement{ID: j.Record.ID, Token: j.Token, Kind: storage.Completed}
		w.Finish(j)
	}
}

func ids(jobs []*Job) []string {
	var list []string
	for _, j := range jobs {
		list = append(list, j.Record.ID)
	}
	return list
}

func TestACallTakesAsManyJobsAsThereIsCapacityFor(t *testing.T) {
	t.Parallel()
	w := newWorker(t, Config{Capacity: 3})
	run := w.takes(0, 3, 3)
	require.Equal(t, []string{"1", "2", "3"}, ids(run))
	require.False(t, w.ClaimLane(), "all capacity is in use")
	w.finishes(run[1], run[2])
	require.Equal(t, 1, w.Snapshot().Running)
	require.Len(t, w.takes(2, 2, 1), 1)
	require.Equal(t, 2, w.Snapshot().Held)
	require.False(t, w.ClaimLane(), "the queue had less than was asked for: it is empty")
	require.True(t, w.LookAgain())
	w.takes(0, 1, 0)
}

func TestACallTakesAtMostHalfOfALargeCapacity(t *testing.T) {
	t.Parallel()
	w := newWorker(t, Config{Capacity: 60})
	var first, second Batch
	require.True(t, w.ClaimLane())
	require.True(t, w.Next(&first))
	require.Equal(t, 30, first.Take)
	require.False(t, w.ClaimLane(), "one call that only takes is enough")
	require.Len(t, w.gives(&first, 30), 30)
	require.True(t, w.Next(&second))
	require.Equal(t, 15, second.Take)
	w = newWorker(t, Config{Capacity: 60, MaxBatch: 7})
	w.takes(0, 7, 0)
}

func TestTwoLanesShareCapacity(t *testing.T) {
	t.Parallel()
	w := newWorker(t, Config{Capacity: 2})
	run := w.takes(0, 2, 2)
	var first, second, third Batch
	w.finishes(run[0])
	require.True(t, w.ClaimLane())
	require.True(t, w.Next(&first))
	w.finishes(run[1])
	require.True(t, w.ClaimLane())
	require.True(t, w.Next(&second))
	require.Equal(t, []int{1, 1}, []int{first.Take, second.Take})
	require.False(t, w.ClaimLane(), "both lanes are in use")
	require.False(t, w.Next(&third), "and there is nothing to send")
}

// The worker holds a job until the storage has answered for it.
func TestARefusedOutcomeIsSentAgain(t *testing.T) {
	t.Parallel()
	w := newWorker(t, Config{Capacity: 1})
	run := w.takes(0, 1, 1)
	w.finishes(run...)
	var b Batch
	require.True(t, w.ClaimLane())
	require.True(t, w.Next(&b))
	require.Empty(t, w.RenewedBefore(time.Now().Add(time.Hour)), "its lock needs no renewal: it is about to be settled")
	run[0].Outcome.Kind = storage.Failed
	w.RecordSettled(b.Settle)
	require.Len(t, w.RenewedBefore(time.Now().Add(time.Hour)), 1)
	w.gives(&b, 0)
	require.True(t, w.Next(&b))
	require.Equal(t, storage.Failed, b.Settle[0].Outcome.Kind)
	w.GiveUp(&b, false)
	w.takes(1, 1, 0)
	require.Zero(t, w.Snapshot().Held)
}

func TestADecidedJobIsSettledWithoutBeingRun(t *testing.T) {
	t.Parallel()
	w := newWorker(t, Config{Capacity: 1})
	var b Batch
	require.True(t, w.ClaimLane())
	require.True(t, w.Next(&b))
	j := &Job{Record: &storage.Record{ID: "1"}, Outcome: storage.Settlement{Kind: storage.DelayedUntil}}
	require.Empty(t, w.RecordTaken(&b, &Taken{Now: time.Now(), Decided: []*Job{j}}))
	require.True(t, w.Next(&b))
	require.Equal(t, []*Job{j}, b.Settle)
	require.Equal(t, 1, b.Take, "it uses no capacity")
}

func TestALostJobIsForgotten(t *testing.T) {
	t.Parallel()
	w := newWorker(t, Config{Capacity: 3})
	run := w.takes(0, 3, 3)
	runs, waits, settles := run[0], run[1], run[2]
	w.finishes(settles)
	var b Batch
	require.True(t, w.ClaimLane())
	require.True(t, w.Next(&b))
	w.finishes(waits)
	require.True(t, w.Lose(waits), "its outcome waits to be sent")
	require.True(t, w.Lose(runs), "its handler runs")
	require.False(t, w.Lose(settles), "a call settles it: that decides")
	require.False(t, w.Lose(runs), "it is lost already")
	settles.SetGone()
	w.RecordSettled(b.Settle)
	w.gives(&b, 0)
	w.finishes(runs)
	require.False(t, w.Next(&b), "there is no outcome to be sent")
	require.Zero(t, w.Snapshot().Held)
}

func TestAWorkerThatIsPausedSettlesAndTakesNothing(t *testing.T) {
	t.Parallel()
	w := newWorker(t, Config{Capacity: 2})
	run := w.takes(0, 2, 1)
	require.True(t, w.SetPaused(true))
	w.finishes(run...)
	w.takes(1, 0, 0)
	require.False(t, w.ClaimLane())
	require.True(t, w.SetPaused(false))
	w.takes(0, 2, 0)
	w.BeginStop()
	require.False(t, w.SetPaused(false), "a worker that stops does not go on")
}

func TestARateLimitKeepsFromTakingUntilItEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorker(t, Config{Capacity: 1})
		var b Batch
		require.True(t, w.ClaimLane())
		require.True(t, w.Next(&b))
		end := time.Now().Add(time.Minute)
		w.RecordTaken(&b, &Taken{Now: time.Now(), LimitedUntil: end})
		require.False(t, w.Next(&b))
		limited, due, ok := w.AwaitNothing()
		require.True(t, ok)
		require.Equal(t, end, limited)
		require.Zero(t, due)
		time.Sleep(time.Minute)
		require.False(t, w.ClaimLane(), "somebody must look again")
		require.True(t, w.LookAgain())
		require.True(t, w.ClaimLane())
	})
}

func TestAwaitEndsWhenEverythingIsSettled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorker(t, Config{Capacity: 2})
		run := w.takes(0, 2, 2)
		ended := false
		go func() {
			var b Batch
			for w.Await(&b) {
				for _, j := range b.Settle {
					j.SetGone()
				}
				w.RecordSettled(b.Settle)
				w.gives(&b, 0)
				require.False(t, w.Next(&b))
			}
			ended = true
		}()
		w.BeginStop()
		synctest.Wait()
		require.False(t, ended)
		w.finishes(run[0])
		w.Wake()
		synctest.Wait()
		require.False(t, ended, "a handler runs")
		require.True(t, w.Lose(run[1]))
		w.finishes(run[1])
		synctest.Wait()
		require.True(t, ended)
		_, _, ok := w.AwaitNothing()
		require.False(t, ok)
	})
}

func TestAbandonSaysWhatIsLeftUndone(t *testing.T) {
	t.Parallel()
	w := newWorker(t, Config{Capacity: 5})
	run := w.takes(0, 5, 4)
	w.finishes(run[1], run[2])
	require.True(t, w.Lose(run[3]))
	left := w.Abandon()
	require.ElementsMatch(t, []string{"1", "4"}, ids(left.Running))
	require.ElementsMatch(t, []string{"2", "3"}, ids(left.Unstored))
	require.False(t, left.Unknown)
	require.False(t, w.ClaimLane())
	w = newWorker(t, Config{Capacity: 1})
	var b Batch
	require.True(t, w.ClaimLane())
	require.True(t, w.Next(&b))
	require.True(t, w.Abandon().Unknown, "a call that takes is under way")
}

func TestLocksThatWereRenewedAreLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorker(t, Config{Capacity: 2})
	run := w.takes(0, 2, 2)
	soon := time.Now().Add(time.Minute)
	require.ElementsMatch(t, run, w.RenewedBefore(soon))
	w.SetRenewed(run[:1], soon)
	require.Equal(t, soon, w.Renewed(run[0]))
	require.Equal(t, run[1:], w.RenewedBefore(soon))
	require.Equal(t, run[1:], w.Find("2"))
	require.Empty(t, w.Find("3"))
}
