package bullmq

import (
	"context"
	"fmt"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// JobHandle refers to a job that was added, and to its result of type R.
type JobHandle[R any] struct {
	// ID is the job's id on its queue.
	ID string
	// Queue is the queue's name.
	Queue string
	// Existing is true when nothing was added because a job of the same task with
	// the same custom or deduplication id was there: the handle refers to that one.
	Existing bool

	client *Client
	code   *coder // of the job's task, or nil
	// belongs looks whether the job is of the handle's task, for one whose id was
	// kept; nil: that is known.
	belongs func(context.Context) error
}

// Result waits until the job is finished and returns what its handler
// returned. It returns a *JobError (ErrJobFailed) when the job failed and is not
// tried again, and ErrJobNotFound when it was removed, which happens to a job with
// KeepNone that finished before anybody waited. A handle made of an id that was
// kept returns ErrOtherTask for a job of another task. An outage of the storage does
// not end it: only ctx does. Give ctx a deadline: a job may wait for a worker for ever.
//
// The first call for a queue opens a connection on which all results of that
// queue are waited for.
func (h *JobHandle[R]) Result(ctx context.Context) (R, error) {
	var result R
	if h.client == nil {
		return result, errNoClient
	}
	if h.belongs != nil {
		if err := untilThere(ctx, h.belongs); err != nil {
			return result, awaitError(h.Queue, h.ID, err)
		}
	}
	value, err := h.client.await(ctx, h.Queue, h.ID)
	if err != nil {
		return result, err
	}
	if err := decodeResult(h.code, h.Queue, value, &result); err != nil {
		return result, storage.OfKind(ErrMalformed, fmt.Errorf("bullmq: result of job %q on queue %q: %w", h.ID, h.Queue, err))
	}
	return result, nil
}

// State is where the job is in its life now.
func (h *JobHandle[R]) State(ctx context.Context) (State, error) {
	if h.client == nil {
		return "", errNoClient
	}
	return h.client.store.State(ctx, h.Queue, h.ID)
}

// State is where a job is in its life.
type State = storage.State

// The states of a job.
const (
	StateWaiting         = storage.StateWaiting
	StateActive          = storage.StateActive
	StateDelayed         = storage.StateDelayed
	StatePrioritized     = storage.StatePrioritized
	StateWaitingChildren = storage.StateWaitingChildren
	StateCompleted       = storage.StateCompleted
	StateFailed          = storage.StateFailed
	StateUnknown         = storage.StateUnknown
)
