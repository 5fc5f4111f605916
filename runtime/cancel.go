package bullmq

import (
	"context"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Cancel ends the context of a job's handler, with ErrCancelled as its cause,
// on whichever Go worker runs it now; if the handler then returns an error, the
// job fails for good. It does not wait for that, and does nothing about jobs
// that are not active or that a Node worker runs. Workers hear of it within
// milliseconds, and after an outage as soon as they are connected again.
func (q *Queue) Cancel(ctx context.Context, id string) error {
	if id == "" {
		return storage.Invalid("bullmq: cancel on queue %q: no job id given", q.name)
	}
	return q.client.store.Cancel(ctx, q.name, id)
}

// listenForCancel cancels jobs that Queue.Cancel names, until ctx ends.
func (w *Worker) listenForCancel(ctx context.Context) {
	back := newBackoff()
	cursor := ""
	for ctx.Err() == nil {
		ids, next, err := w.store.Cancelled(ctx, w.queue.Name, cursor, maxWait)
		if err != nil {
			if ctx.Err() == nil {
				w.outage.report(w, "listen for cancelled jobs", err)
			}
			back.wait(ctx)
			continue
		}
		back.reset()
		cursor = next
		for _, id := range ids {
			w.Cancel(id)
		}
	}
}
