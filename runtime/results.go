package bullmq

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// recheck is how often a result that is waited for is looked up, beside the
// events: an event may be lost when a queue keeps few of them.
const recheck = 10 * time.Second

// await waits until a job is finished, and returns its value.
//
// It listens before it looks, so that a job which finishes in between is not
// missed.
func (c *Client) await(ctx context.Context, queue, id string) ([]byte, error) {
	w, err := c.watch(queue)
	if err != nil {
		return nil, err
	}
	sub := w.subscribe(id)
	defer w.unsubscribe(id, sub)
	if err := w.ready(ctx); err != nil {
		return nil, awaitError(queue, id, err)
	}
	back, look := &outage.Backoff{}, time.NewTimer(recheck)
	defer look.Stop()
	for {
		value, done, err := c.finished(ctx, queue, id)
		switch {
		case done:
			return value, err
		case err == nil:
			back.Reset()
			look.Reset(recheck)
		case ctx.Err() != nil:
			return nil, awaitError(queue, id, context.Cause(ctx))
		case !storage.Transient(err):
			return nil, awaitError(queue, id, err)
		default: // the job lives, whatever the storage does
			look.Reset(back.Next())
		}
		select {
		case fin := <-sub:
			if fin.State != "" && !c.retried(ctx, queue, id, fin) {
				return c.finish(ctx, queue, id, fin)
			}
		case <-look.C:
		case <-w.ended:
			return nil, awaitError(queue, id, w.err)
		case <-ctx.Done():
			return nil, awaitError(queue, id, context.Cause(ctx))
		}
	}
}

// untilThere calls look until the storage answers it, however long it is away.
func untilThere(ctx context.Context, look func(context.Context) error) error {
	back := &outage.Backoff{}
	for {
		err := look(ctx)
		if err == nil || !storage.Transient(err) || ctx.Err() != nil {
			return err
		}
		back.Wait(ctx)
	}
}

// retried tells whether a job that was heard to have failed is to run again: the
// word may be older than the call that waits, and the retry too.
func (c *Client) retried(ctx context.Context, queue, id string, fin storage.Finish) bool {
	if fin.State != storage.StateFailed {
		return false
	}
	now, err := c.store.Finish(ctx, queue, id)
	return err == nil && now.State == ""
}

func awaitError(queue, id string, err error) error {
	return fmt.Errorf("bullmq: waiting for job %q on queue %q: %w", id, queue, err)
}

// finished looks whether a job is finished.
func (c *Client) finished(ctx context.Context, queue, id string) (value []byte, done bool, err error) {
	fin, err := c.store.Finish(ctx, queue, id)
	if err != nil || fin.State == "" {
		return nil, false, err
	}
	value, err = c.finish(ctx, queue, id, fin)
	return value, true, err
}

func (c *Client) finish(ctx context.Context, queue, id string, fin storage.Finish) ([]byte, error) {
	switch fin.State {
	case storage.StateCompleted:
		return fin.Value, nil
	case storage.StateFailed:
		return nil, &JobError{Queue: queue, ID: id, Reason: fin.Reason, Child: c.failedBelow(ctx, fin.Reason)}
	}
	return nil, &storage.Error{Op: "result", Queue: queue, Job: id, Err: ErrJobNotFound}
}

// childText finds the child in the reason of a job that failed because of it, as
// all peers store it.
var childText = regexp.MustCompile(`^child (.+:.+) failed$`)

// maxFailedBelow is the most children that are followed from a failed job.
const maxFailedBelow = 100

// failedBelow is why the child failed because of which a job did, and so on down
// to the first one; nil: the job failed by itself. What cannot be read ends it.
func (c *Client) failedBelow(ctx context.Context, reason string) *JobError {
	var first *JobError
	at := &first
	for range maxFailedBelow {
		m := childText.FindStringSubmatch(reason)
		if m == nil {
			break
		}
		key, id := splitKey(m[1])
		child := &JobError{Queue: bareQueue(key), ID: id}
		*at, at = child, &child.Child
		found, err := c.store.ReadFlow(ctx, 0, m[1])
		if err != nil || len(found) == 0 || found[0] == nil {
			break
		}
		reason = found[0].FailedReason
		child.Reason = reason
	}
	return first
}
