package engine

import (
	"context"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// checkStalled looks for jobs of vanished workers, immediately and then at each
// interval, until ctx ends. The storage makes sure that all workers of a queue
// together look once in an interval.
func (e *Engine) checkStalled(ctx context.Context) {
	tick := time.NewTicker(e.StalledInterval)
	defer tick.Stop()
	for {
		ids, err := e.Store.RecoverStalled(ctx, e.Queue, storage.StalledRequest{
			Now: e.Now(), Interval: e.StalledInterval, MaxStalled: e.MaxStalled,
		})
		switch {
		case err == nil:
			e.outage.Succeeded(outage.RecoverStalled)
		case ctx.Err() == nil:
			e.outage.Failed(outage.RecoverStalled, err)
		}
		for _, id := range ids {
			e.Log.WarnContext(ctx, "bullmq: stalled job put back", "queue", e.Queue, "id", id)
			e.Observer.Stalled(id)
		}
		if len(ids) > 0 {
			e.ledger.LookAgain()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
