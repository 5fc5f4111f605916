package bullmq

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Queue looks at a queue and operates it, whatever its tasks. It holds no
// connection and needs no closing. Calls about one job return ErrJobNotFound
// when there is none with that id.
type Queue struct {
	client *Client
	name   string
}

// Queue returns the queue of a name. It sends nothing; a bad name is reported
// by the first call.
func (c *Client) Queue(name string) *Queue { return &Queue{client: c, name: name} }

// Name is the queue's name.
func (q *Queue) Name() string { return q.name }

// Add adds a job by name, for tools that do not know the queue's tasks. Data is
// encoded as JSON; programs use the generated Enqueue functions, which check it.
func (q *Queue) Add(ctx context.Context, name string, data any, opts ...AddOption) (*JobHandle[json.RawMessage], error) {
	task := NewTask[json.RawMessage, json.RawMessage](Spec{Queue: &QueueSpec{Name: q.name}, Name: name}, nil)
	task.anyName = true
	text, err := encodeJSON(data)
	if err != nil {
		return nil, storage.Invalid("bullmq: add %s/%s: payload: %w", q.name, name, err)
	}
	return task.Add(ctx, q.client, text, opts...)
}

// Pause keeps all workers of the queue from taking jobs. Running ones go on,
// and jobs are still added.
func (q *Queue) Pause(ctx context.Context) error { return q.client.store.Pause(ctx, q.name) }

// Resume undoes Pause.
func (q *Queue) Resume(ctx context.Context) error { return q.client.store.Resume(ctx, q.name) }

// Paused reports whether the queue is paused.
func (q *Queue) Paused(ctx context.Context) (bool, error) {
	m, err := q.client.store.Meta(ctx, q.name)
	return m.Paused, err
}

// Drain removes the jobs that wait for a worker, and with WithDelayed the
// delayed ones too. Active and finished jobs stay, and so does the next job of
// each schedule.
func (q *Queue) Drain(ctx context.Context, opts ...DrainOption) error {
	return q.client.store.Drain(ctx, q.name, chosen(draining{}, opts).delayed)
}

// Clean removes up to limit jobs (0: all) that are in the state given for
// longer than grace, and returns their ids. Active jobs are removed only when
// no worker holds them.
func (q *Queue) Clean(ctx context.Context, state State, grace time.Duration, limit int) ([]string, error) {
	return q.client.store.Clean(ctx, q.name, state, q.client.now().Add(-grace), limit)
}

// obliterateStep is how many jobs one step of Obliterate removes, and
// bulkStep how many RetryAll and PromoteAll move.
const (
	obliterateStep = 1000
	bulkStep       = 1000
)

// Obliterate pauses the queue and removes it with all its jobs. If jobs are
// active, it returns ErrActiveJobs and leaves the queue paused, unless the call
// has the option Force.
func (q *Queue) Obliterate(ctx context.Context, opts ...ObliterateOption) error {
	if err := q.client.store.Pause(ctx, q.name); err != nil {
		return err
	}
	return q.client.store.Obliterate(ctx, q.name, chosen(obliteration{}, opts).force, obliterateStep)
}

// RetryAll makes all failed (StateFailed) or completed jobs wait again.
func (q *Queue) RetryAll(ctx context.Context, state State) error {
	return q.client.store.RetryAll(ctx, q.name, state, q.client.now(), bulkStep)
}

// PromoteAll makes all delayed jobs wait.
func (q *Queue) PromoteAll(ctx context.Context) error {
	return q.client.store.PromoteAll(ctx, q.name, bulkStep)
}

// Retry makes a failed job wait again. Its attempts are counted on; see
// RetryWith to begin at zero or to retry a completed job.
func (q *Queue) Retry(ctx context.Context, id string) error {
	return q.RetryWith(ctx, id, RetryRequest{State: StateFailed})
}

// RetryRequest says how a finished job is retried.
type RetryRequest = storage.RetryRequest

// RetryWith makes a finished job wait again. ErrNotInState: it is not in the
// state that the request names.
func (q *Queue) RetryWith(ctx context.Context, id string, r RetryRequest) error {
	return q.client.store.Retry(ctx, q.name, id, r)
}

// Promote makes a delayed job wait. ErrNotInState: it is not delayed.
func (q *Queue) Promote(ctx context.Context, id string) error {
	return q.client.store.Promote(ctx, q.name, id)
}

// ChangeDelay makes a delayed job due d from now. ErrNotInState: it is not delayed.
func (q *Queue) ChangeDelay(ctx context.Context, id string, d time.Duration) error {
	var p problems
	o := Options{Delay: d}
	o.check(&p)
	if err := p.wrap("change delay of job %q", id); err != nil {
		return err
	}
	return q.client.store.ChangeDelay(ctx, q.name, id, q.client.now(), d)
}

// ChangePriority gives a job another priority, 0 to 2097151. The job goes behind
// the others of that priority, or with BeforeOthers before them.
func (q *Queue) ChangePriority(ctx context.Context, id string, priority int, opts ...PriorityOption) error {
	var p problems
	o := Options{Priority: priority}
	o.check(&p)
	if err := p.wrap("change priority of job %q", id); err != nil {
		return err
	}
	return q.client.store.ChangePriority(ctx, q.name, id, priority, chosen(ranking{}, opts).first)
}

// UpdateData replaces a job's payload with data, encoded as JSON.
func (q *Queue) UpdateData(ctx context.Context, id string, data any) error {
	text, err := encodeJSON(data)
	if err != nil {
		return storage.Invalid("bullmq: data of job %q: %w", id, err)
	}
	return q.client.store.UpdateData(ctx, q.name, id, text)
}

// Remove deletes a job in any state, and with WithChildren its descendants too.
// It returns ErrLocked if a worker holds one of them. It is not an error if there
// is no such job.
func (q *Queue) Remove(ctx context.Context, id string, opts ...RemoveOption) error {
	return q.client.store.Remove(ctx, q.name, id, chosen(removal{}, opts).children)
}

// RemovePendingChildren deletes the children of a job that were not started,
// with theirs. Children that a worker holds, and failed ones, stay.
func (q *Queue) RemovePendingChildren(ctx context.Context, id string) error {
	return q.client.store.RemovePendingChildren(ctx, q.name, id)
}

// RemoveChildDependency makes a child's parent no longer wait for the child. It
// reports whether the parent waited for it.
func (q *Queue) RemoveChildDependency(ctx context.Context, id string) (bool, error) {
	return q.client.store.RemoveChildDependency(ctx, q.name, id)
}

// UpdateProgress sets a job's progress to a value with a JSON form, and tells it as an event.
func (q *Queue) UpdateProgress(ctx context.Context, id string, value any) error {
	text, err := encodeJSON(value)
	if err != nil {
		return storage.Invalid("bullmq: progress of job %q: %w", id, err)
	}
	return q.client.store.UpdateProgress(ctx, q.name, id, text)
}

// AddLog adds a line to a job's log, keeps the last keep lines (0: all), and
// returns how many there are.
func (q *Queue) AddLog(ctx context.Context, id, line string, keep int) (int, error) {
	return q.client.store.AddLog(ctx, q.name, id, line, keep)
}

// ClearLogs removes a job's log lines but the last keep.
func (q *Queue) ClearLogs(ctx context.Context, id string, keep int) error {
	return q.client.store.ClearLogs(ctx, q.name, id, keep)
}

// RemoveOrphans deletes what is left of jobs that are in no state, and takes
// ids of finished jobs whose data are gone out of their state. It stops after
// limit jobs (0: all), and returns how many there were.
func (q *Queue) RemoveOrphans(ctx context.Context, limit int) (int, error) {
	return q.client.store.RemoveOrphans(ctx, q.name, bulkStep, limit)
}

// SetGlobalConcurrency limits how many jobs all workers of the queue run at once; 0:
// no limit.
func (q *Queue) SetGlobalConcurrency(ctx context.Context, n int) error {
	return q.client.store.SetGlobalConcurrency(ctx, q.name, n)
}

// SetGlobalRateLimit sets a rate limit for all workers of the queue, or removes it with
// the zero RateLimit.
func (q *Queue) SetGlobalRateLimit(ctx context.Context, l RateLimit) error {
	if l == (RateLimit{}) {
		if err := q.client.store.SetGlobalRateLimit(ctx, q.name, nil); err != nil {
			return err
		}
		return q.client.store.Cancel(ctx, q.name, engine.LookNow)
	}
	var p problems
	p.rateLimit(l)
	if err := p.wrap("queue %q", q.name); err != nil {
		return err
	}
	return q.client.store.SetGlobalRateLimit(ctx, q.name, &storage.RateLimit{Max: l.Max, Per: l.Per})
}

// RateLimit keeps all workers that have a rate limit from starting jobs for d. A
// duration of 0 ends the limit. Go workers notice that immediately if they listen
// for Queue.Cancel (see NoRemoteCancel). Other workers look again when the time is
// over that they read before, or after MaxLimitDelay.
func (q *Queue) RateLimit(ctx context.Context, d time.Duration) error {
	if err := q.client.store.RateLimit(ctx, q.name, d); err != nil || d > 0 {
		return err
	}
	return q.client.store.Cancel(ctx, q.name, engine.LookNow)
}

// RemoveDedupKey frees a deduplication id, and reports whether it was held.
func (q *Queue) RemoveDedupKey(ctx context.Context, id string) (bool, error) {
	return q.client.store.RemoveDedupKey(ctx, q.name, id, "")
}

// TrimEvents removes all but about the last keep events, and returns how many.
func (q *Queue) TrimEvents(ctx context.Context, keep int) (int, error) {
	return q.client.store.TrimEvents(ctx, q.name, keep)
}

// Cancel ends the context of a job's handler, with ErrCancelled as its cause,
// on whichever Go worker runs it now. If the handler then returns an error, the
// job fails permanently. Cancel does not wait for that, and does nothing about jobs
// that are not active or that a Node worker runs. Workers receive it within
// milliseconds, and after an outage as soon as they are connected again.
func (q *Queue) Cancel(ctx context.Context, id string) error {
	if id == "" {
		return storage.Invalid("bullmq: cancel on queue %q: no job id given", q.name)
	}
	return q.client.store.Cancel(ctx, q.name, id)
}
