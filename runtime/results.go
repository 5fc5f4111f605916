package bullmq

import (
	"context"
	"fmt"
	"time"

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
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	for {
		value, done, err := c.finished(ctx, queue, id)
		if done {
			return value, err
		}
		if err != nil && (!storage.Transient(err) || ctx.Err() != nil) {
			return nil, awaitError(queue, id, err)
		}
		select {
		case fin := <-sub:
			if fin.State != "" && !c.retried(ctx, queue, id, fin) {
				return finish(queue, id, fin)
			}
		case <-tick.C:
		case <-w.ended:
			return nil, awaitError(queue, id, w.err)
		case <-ctx.Done():
			return nil, awaitError(queue, id, context.Cause(ctx))
		}
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
	value, err = finish(queue, id, fin)
	return value, true, err
}

func finish(queue, id string, fin storage.Finish) ([]byte, error) {
	switch fin.State {
	case storage.StateCompleted:
		return fin.Value, nil
	case storage.StateFailed:
		return nil, &JobError{Queue: queue, ID: id, Reason: fin.Reason}
	}
	return nil, &storage.Error{Op: "result", Queue: queue, Job: id, Err: ErrJobNotFound}
}
