package engine

import (
	"context"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/ledger"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// renewLocks renews the locks of all held jobs, in one call each time, until ctx
// ends.
func (e *Engine) renewLocks(ctx context.Context) {
	tick := time.NewTicker(e.RenewEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.ledger.PutBackAfter(e.RenewEvery)
			e.RenewLocks(ctx, time.Now().Add(-e.RenewEvery/2))
		case <-ctx.Done():
			return
		}
	}
}

// RenewLocks renews the locks that were last renewed before a time. A lock that is
// lost ends the run of its job.
func (e *Engine) RenewLocks(ctx context.Context, before time.Time) {
	jobs := e.ledger.RenewedBefore(before)
	if len(jobs) == 0 {
		return
	}
	locks := make([]storage.Lock, len(jobs))
	for i, j := range jobs {
		locks[i] = storage.Lock{ID: j.Record.ID, Token: j.Token}
	}
	// The time of the call counts, not that of the answer: the lock runs from
	// some moment in between.
	at := time.Now()
	lost, err := e.Store.Renew(ctx, e.Queue, locks, e.Lock)
	if err != nil {
		if ctx.Err() == nil {
			e.outage.Failed(outage.RenewLocks, err)
		}
		return
	}
	e.outage.Succeeded(outage.RenewLocks)
	kept := e.dropLost(ctx, jobs, lost)
	e.ledger.SetRenewed(kept, at)
}

// dropLost ends the runs of jobs whose locks are lost, and returns the others.
func (e *Engine) dropLost(ctx context.Context, jobs []*ledger.Job, lost []string) []*ledger.Job {
	gone := make(map[string]bool, len(lost))
	for _, id := range lost {
		gone[id] = true
	}
	kept := jobs[:0]
	for _, j := range jobs {
		if !gone[j.Record.ID] {
			kept = append(kept, j)
			continue
		}
		if e.ledger.Lose(j) {
			e.runner.LoseLock(ctx, j, storage.ErrLockLost)
		}
	}
	return kept
}
