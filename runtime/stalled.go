package bullmq

import (
	"context"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// checkStalled looks for jobs of vanished workers, at once and then at each
// interval, until ctx ends. The storage sees to it that all workers of a queue
// together look once an interval.
func (w *Worker) checkStalled(ctx context.Context) {
	tick := time.NewTicker(w.cfg.stalledInterval)
	defer tick.Stop()
	for {
		ids, err := w.store.RecoverStalled(ctx, w.queue.Name, storage.StalledRequest{
			Now: w.now(), Interval: w.cfg.stalledInterval, MaxStalled: w.cfg.maxStalled,
		})
		switch {
		case err == nil:
			w.outage.over(w, lookForStalled)
		case ctx.Err() == nil:
			w.outage.report(w, lookForStalled, err)
		}
		for _, id := range ids {
			w.log.WarnContext(ctx, "bullmq: stalled job put back", "queue", w.queue.Name, "id", id)
			w.hooks.stalled(id)
		}
		if len(ids) > 0 {
			w.pump.lookAgain(ctx, false)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
