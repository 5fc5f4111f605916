package bullmq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// ScheduleSet is all the schedules that a program declares, on whichever queues.
// Generated code makes one of the directives of a package.
//
// The schedules of a set are marked with its owner, in a field that peers
// ignore. So a program finds those again that an earlier version of it declared,
// and leaves alone what anybody else stored.
type ScheduleSet struct {
	owner string
	list  []DeclaredSchedule
}

// DeclaredSchedule is one schedule of a set, see [Task.Declare].
type DeclaredSchedule struct {
	queue string
	id    string
	make  func() Schedule
}

// ScheduleRef names a schedule.
type ScheduleRef struct{ Queue, ID string }

// NewScheduleSet makes a set. The owner is a name that later versions of the
// program have too, and other programs have not; generated code takes the import
// path of the package that declares the schedules. It stores nothing.
func NewScheduleSet(owner string, list ...DeclaredSchedule) *ScheduleSet {
	return &ScheduleSet{owner, list}
}

// DeclareSchedule returns a schedule of the task's jobs for a set. The payload is asked
// for each time that the set is stored; nil: the zero value.
func (t *Task[P, R]) DeclareSchedule(id string, spec ScheduleSpec, payload func() (P, error), opts ...Option) DeclaredSchedule {
	d := DeclaredSchedule{id: id}
	if t.spec.Queue != nil { // otherwise the task has an error
		d.queue = t.spec.Queue.Name
	}
	d.make = func() Schedule {
		var p P
		if payload != nil {
			make := func() (err error) { p, err = payload(); return err }
			if err := guard.Call("the function", make); err != nil {
				return Schedule{ID: id, Spec: spec, Name: t.spec.Name, err: fmt.Errorf("payload: %w", err)}
			}
		}
		return t.NewSchedule(id, spec, p, opts...)
	}
	return d
}

// Ensure stores the schedules of the set. It is meant to be called each time
// that a program starts, by any number of processes: a schedule that is stored
// already just so is left as it is, with its next job, its phase, and what was
// counted for its limit. One that differs, or whose next job is missing, is
// stored anew as Queue.UpsertSchedule does, whoever stored it before.
//
// All are checked first: when one is wrong nothing is stored, and the error names
// all that is wrong. Then they are stored, those of a queue in one step. When that
// fails, calling Ensure again does the rest.
//
// A schedule whose end has passed is not stored, and that is no error. If it
// is there with another end, it is removed.
func (s *ScheduleSet) Ensure(ctx context.Context, c *Client) error {
	if c == nil {
		return errNoClient
	}
	parts, err := s.parts(c.now())
	if err != nil {
		return err
	}
	var refused []error
	for _, p := range parts {
		r, err := p.ensure(ctx, c)
		if err != nil {
			return errors.Join(append(refused, fmt.Errorf("bullmq: store the schedules %q of queue %q: %w", p.ids(), p.queue, err))...)
		}
		refused = append(refused, r...)
	}
	return errors.Join(refused...)
}

// Prune removes the schedules that an earlier version of the program stored by
// Ensure, on any queue, and that are not in the set any more. Each goes with its
// next job as long as that is delayed, as with Queue.RemoveSchedules. What somebody
// else stored is left, also under an id that once was in the set.
//
// A process of the earlier version that starts later stores its schedules
// again, and one that prunes removes what only the later version declares. So
// call it when a deployment is complete, or see to it that a later start does.
//
// It returns what it removed, also together with an error.
func (s *ScheduleSet) Prune(ctx context.Context, c *Client) ([]ScheduleRef, error) {
	if c == nil {
		return nil, errNoClient
	}
	if err := s.ownerProblem(); err != nil {
		return nil, err
	}
	queues, err := c.store.OwnedQueues(ctx, s.owner)
	if err != nil {
		return nil, fmt.Errorf("bullmq: find the schedules of %q: %w", s.owner, err)
	}
	var pruned []ScheduleRef
	for _, q := range queues {
		var keep []string
		for i := range s.list {
			if s.list[i].queue == q {
				keep = append(keep, s.list[i].id)
			}
		}
		ids, err := c.store.PruneSchedules(ctx, q, s.owner, keep)
		for _, id := range ids {
			pruned = append(pruned, ScheduleRef{q, id})
		}
		if err != nil {
			return pruned, fmt.Errorf("bullmq: prune the schedules of queue %q: %w", q, err)
		}
	}
	return pruned, nil
}

func (s *ScheduleSet) ownerProblem() error {
	if s.owner == "" || !utf8.ValidString(s.owner) {
		return storage.Invalid("bullmq: a set of schedules needs an owner, of valid UTF-8, such as the import path of the package that declares them")
	}
	return nil
}

// setPart is the schedules of a set that are on one queue.
type setPart struct {
	*scheduleBatch
	// over have no time left before their end.
	over []Schedule
}

// parts checks all schedules of the set. Queues are in the order in which they
// are first declared.
func (s *ScheduleSet) parts(now time.Time) ([]*setPart, error) {
	wrong := []error{s.ownerProblem()}
	var queues []string
	open, over := map[string][]Schedule{}, map[string][]Schedule{}
	for _, d := range s.list {
		if !slices.Contains(queues, d.queue) {
			queues = append(queues, d.queue)
		}
		made := d.make()
		if made.err == nil && made.Spec.over(now) {
			over[d.queue] = append(over[d.queue], made)
		} else {
			open[d.queue] = append(open[d.queue], made)
		}
	}
	var parts []*setPart
	for _, q := range queues {
		b, err := newScheduleBatch(q, now, open[q])
		wrong = append(wrong, err)
		for i := range b.list {
			b.list[i].Owner = s.owner
		}
		parts = append(parts, &setPart{b, over[q]})
	}
	return parts, errors.Join(wrong...)
}

// over is true for a right spec that has no time left before its end.
func (s *ScheduleSpec) over(now time.Time) bool {
	if s.End.IsZero() || s.Check(time.Time{}) != nil {
		return false
	}
	if !s.End.After(now) {
		return true
	}
	var p problems
	_, c := s.rule(now, &p)
	if c == nil {
		return false
	}
	_, err := c.next(now)
	return errors.Is(err, storage.ErrScheduleEnded)
}

func (p *setPart) ids() []string {
	ids := make([]string, len(p.list))
	for i := range p.list {
		ids[i] = p.list[i].ID
	}
	return ids
}

// ensure stores the part. It returns why some were refused.
func (p *setPart) ensure(ctx context.Context, c *Client) (refused []error, err error) {
	ends := map[string]time.Time{}
	for i := range p.over {
		ends[p.over[i].ID] = p.over[i].Spec.End
	}
	if len(p.list) > 0 {
		_, errs, err := p.store(ctx, c)
		if err != nil {
			return nil, err
		}
		for i, err := range errs {
			if errors.Is(err, storage.ErrScheduleEnded) { // an interval whose first time is after its end
				ends[p.list[i].ID] = p.list[i].End
			} else if err != nil {
				refused = append(refused, err)
			}
		}
	}
	return refused, p.retire(ctx, c, ends)
}

// retire removes those of some schedules that are stored with another end than
// the one given, which has passed: they would go on.
func (p *setPart) retire(ctx context.Context, c *Client, ends map[string]time.Time) error {
	ids := make([]string, 0, len(ends))
	for id := range ends {
		ids = append(ids, id)
	}
	found, err := c.store.Schedules(ctx, p.queue, ids...)
	if err != nil {
		return err
	}
	var gone []string
	for i, r := range found {
		if r != nil && r.End.UnixMilli() != ends[ids[i]].UnixMilli() {
			gone = append(gone, ids[i])
		}
	}
	_, err = c.store.RemoveSchedules(ctx, p.queue, gone...)
	return err
}
