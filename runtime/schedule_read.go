package bullmq

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// ScheduleInfo is a stored schedule.
type ScheduleInfo struct {
	ID string
	// Spec is when it adds jobs. What was stored by a peer may be what Schedule
	// would refuse, such as a pattern without a zone.
	Spec ScheduleSpec
	// Name and Data (JSON text) are those of its jobs.
	Name string
	Data json.RawMessage
	// Options are those of its jobs.
	Options Options
	// Next is the job that it added last.
	Next NextRun
	// Owner is the owner of the ScheduleSet that stored it; empty: it was stored
	// by other means, or by a peer.
	Owner string
	// Iterations is how many jobs it added, since it was stored first. 0: it is
	// a repeatable job of a 5.x peer.
	Iterations int
	// Extra are stored fields that this version does not know.
	Extra map[string]string
}

// Schedule reads a schedule. ErrScheduleNotFound: there is none of that id.
func (q *Queue) Schedule(ctx context.Context, id string) (*ScheduleInfo, error) {
	found, err := q.client.store.Schedules(ctx, q.name, id)
	if err != nil {
		return nil, err
	}
	if found[0] == nil {
		return nil, fmt.Errorf("bullmq: schedule %q on queue %q: %w", id, q.name, ErrScheduleNotFound)
	}
	return scheduleInfo(found[0])
}

// Schedules reads the schedules of the queue, that with the earliest next job
// first: elements start to end, both included, end -1 for all.
func (q *Queue) Schedules(ctx context.Context, start, end int) ([]ScheduleInfo, error) {
	found, err := q.client.store.ListSchedules(ctx, q.name, start, end, true)
	if err != nil {
		return nil, err
	}
	list := make([]ScheduleInfo, len(found))
	for i := range found {
		s, err := scheduleInfo(&found[i])
		if err != nil {
			return nil, err
		}
		list[i] = *s
	}
	return list, nil
}

// CountSchedules counts the schedules of the queue.
func (q *Queue) CountSchedules(ctx context.Context) (int, error) {
	return q.client.store.CountSchedules(ctx, q.name)
}

// RemoveSchedules removes schedules, each with its next job as long as that is
// delayed; a job that waits for a worker, or runs, is left and is the last one.
// It returns how many there were: one that does not exist is no error.
func (q *Queue) RemoveSchedules(ctx context.Context, ids ...string) (int, error) {
	removed, err := q.client.store.RemoveSchedules(ctx, q.name, ids...)
	n := 0
	for _, was := range removed {
		if was {
			n++
		}
	}
	return n, err
}

func scheduleInfo(r *storage.ScheduleRecord) (*ScheduleInfo, error) {
	o, err := ParseOptions(r.Template.Opts)
	if err != nil {
		return nil, storage.OfKind(ErrMalformed, fmt.Errorf("bullmq: schedule %q: %w", r.ID, err))
	}
	s := &ScheduleInfo{
		ID: r.ID, Name: r.Template.Name, Data: r.Template.Data, Options: o, Owner: r.Owner, Iterations: r.Iterations, Extra: r.Extra,
		Spec: ScheduleSpec{Cron: r.Pattern, TZ: r.TZ, Every: r.Every, Offset: r.Offset, Limit: r.Limit, Start: r.Start, End: r.End},
	}
	if s.Data == nil {
		s.Data = json.RawMessage("{}")
	}
	if r.NextRun != (time.Time{}) {
		s.Next = NextRun{JobID: fmt.Sprintf("repeat:%s:%d", r.ID, r.NextRun.UnixMilli()), At: r.NextRun}
	}
	return s, nil
}
