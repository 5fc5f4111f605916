package bullmq

import (
	"context"
	"fmt"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Run processes jobs until ctx ends, then takes nothing more, waits for running
// jobs as long as the grace period lasts, cancels the rest, and returns. It returns
// nil after a clean stop, an *AbandonedError (ErrAbandoned) when something was left
// undone, and an error immediately when the worker is not set up properly. It does
// not return because the storage is away: the worker waits for it.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.Start(ctx); err != nil {
		return err
	}
	<-w.engine.Ended()
	return abandoned(w.queue.Name, w.engine.Left())
}

// Start begins to process jobs and returns. The end of ctx stops the worker as
// Stop does. It returns an error when the worker is not set up properly.
func (w *Worker) Start(ctx context.Context) error {
	if err := w.ready(); err != nil {
		return err
	}
	w.engine.Start(ctx)
	return nil
}

// Ready returns nil while the worker takes jobs and the storage serves it, and
// otherwise why not: the worker was not started, is stopping or has stopped, or a
// call to the storage fails. A paused worker is ready. Ready asks no server; its
// signature is that of a check of package health.
func (w *Worker) Ready(context.Context) error {
	if err := w.engine.Ready(); err != nil {
		return fmt.Errorf("bullmq: the worker of queue %q %w", w.queue.Name, err)
	}
	return nil
}

// Stop makes a started worker take nothing more and waits until it has stopped,
// as Run describes. The end of ctx cuts the grace period short: the contexts of
// handlers end 3 seconds before its deadline, or at half of the time that is left if
// that is later, so that handlers can still return. Stop returns at the deadline,
// whatever is still under way, and the error says what that is. A ctx that is
// cancelled leaves handlers 3 seconds, unless the storage is away: what they return
// could not be stored. Stopping a worker that has stopped returns what the first
// stop returned.
func (w *Worker) Stop(ctx context.Context) error {
	left, started := w.engine.Stop(ctx)
	if !started {
		return storage.Invalid("bullmq: stop of a worker that was not started")
	}
	return abandoned(w.queue.Name, left)
}
