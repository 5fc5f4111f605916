package bullmq

import (
	"cmp"
	"context"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// renewLocks renews the locks of all taken jobs, in one call each time, until
// ctx ends. A quarter of a lock's time passes between two rounds, so that two
// of them may fail before a lock is lost.
func (w *Worker) renewLocks(ctx context.Context) {
	every := cmp.Or(w.cfg.renewEvery, w.cfg.lock/4)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.pump.unstick(every)
			w.renewOnce(ctx, time.Now().Add(-every/2))
		case <-ctx.Done():
			return
		}
	}
}

// renewOnce renews the locks that were renewed last before a time.
func (w *Worker) renewOnce(ctx context.Context, before time.Time) {
	jobs := w.pump.locks(before)
	if len(jobs) == 0 {
		return
	}
	locks := make([]storage.Lock, len(jobs))
	for i, j := range jobs {
		locks[i] = storage.Lock{ID: j.ID, Token: j.token}
	}
	// The time of the call counts, not that of the answer: the lock runs from
	// some moment in between.
	at := time.Now()
	lost, err := w.store.Renew(ctx, w.queue.Name, locks, w.cfg.lock)
	if err != nil {
		if ctx.Err() == nil {
			w.outage.report(w, renewTheLocks, err)
		}
		return
	}
	w.outage.over(w, renewTheLocks)
	gone := make(map[string]bool, len(lost))
	for _, id := range lost {
		gone[id] = true
	}
	kept := jobs[:0]
	for _, j := range jobs {
		if !gone[j.ID] {
			kept = append(kept, j)
			continue
		}
		if w.pump.lose(j.ID, j.token) != nil {
			w.lockLost(ctx, j, ErrLockLost)
		}
	}
	w.pump.renewed(kept, at)
}
