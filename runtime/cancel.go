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

// lookNow is told to workers in the place of the id of a job that is cancelled, and
// cannot be one: a limit of the queue has changed, and who waits for its end is to
// look at once.
const lookNow = "0"

// listenForCancel cancels jobs that Queue.Cancel names, until ctx ends.
func (w *Worker) listenForCancel(ctx context.Context) {
	back := newBackoff()
	cursor := ""
	for ctx.Err() == nil {
		ids, next, err := w.store.Cancelled(ctx, w.queue.Name, cursor, maxWait)
		if err != nil {
			if ctx.Err() == nil {
				w.outage.report(w, listenToCancels, err)
			}
			back.wait(ctx)
			continue
		}
		back.reset()
		w.outage.over(w, listenToCancels)
		cursor = next
		for _, id := range ids {
			if id == lookNow {
				w.pump.nudge()
				continue
			}
			w.Cancel(id)
		}
	}
}
