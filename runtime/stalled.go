package bullmq

import (
	"context"
	"errors"
	"sync"
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
		if err != nil && ctx.Err() == nil {
			w.outage.report(w, "look for stalled jobs", err)
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

// outage reports that the storage is away once, and that it is back.
type outage struct {
	mu     sync.Mutex
	since  time.Time
	closed bool // by the program: it does not come back
}

// report tells about an error of a call. What lasts, an outage or a storage that
// the program closed, is told once; what does not, such as a script that the
// server refuses, each time.
func (o *outage) report(w *Worker, what string, err error) {
	o.mu.Lock()
	tell := true
	switch {
	case errors.Is(err, storage.ErrClosed):
		tell, o.closed = !o.closed, true
	case storage.Transient(err):
		if tell = o.since.IsZero(); tell {
			o.since = time.Now()
		}
	}
	o.mu.Unlock()
	if tell {
		w.report(errors.Join(errors.New("bullmq: could not "+what+", will try again"), err))
	}
}

func (o *outage) over(w *Worker) {
	o.mu.Lock()
	since := o.since
	o.since = time.Time{}
	o.mu.Unlock()
	if !since.IsZero() {
		w.log.Info("bullmq: the storage answers again", "queue", w.queue.Name, "away", time.Since(since).Round(time.Millisecond))
	}
}
