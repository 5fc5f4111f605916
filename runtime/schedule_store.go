package bullmq

import (
	"context"
	"errors"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// runTries is how many times of a pattern are tried whose jobs exist already.
const runTries = 100

// scheduleBatch is some schedules of one queue, ready to be stored.
type scheduleBatch struct {
	queue string
	now   time.Time
	list  []storage.Schedule
	crons []*cronSchedule // nil elements: intervals
}

// newScheduleBatch checks schedules and builds what is stored of them.
func newScheduleBatch(queue string, now time.Time, list []Schedule) (*scheduleBatch, error) {
	b := &scheduleBatch{queue, now, make([]storage.Schedule, len(list)), make([]*cronSchedule, len(list))}
	var wrong []error
	seen := map[string]bool{}
	for i := range list {
		var p problems
		b.list[i], b.crons[i] = list[i].stored(now, &p)
		if seen[list[i].ID] {
			p.add("there are two of this id")
		}
		seen[list[i].ID] = true
		wrong = append(wrong, p.wrap("schedule %q on queue %q", list[i].ID, queue))
	}
	return b, errors.Join(wrong...)
}

// store stores the schedules, those whose next time is taken with a later one.
// Refused has for each what the storage has against it.
func (b *scheduleBatch) store(ctx context.Context, c *Client) (runs []NextRun, refused []error, err error) {
	if err := c.announce(ctx, b.queue); err != nil {
		return nil, nil, err
	}
	runs, refused = make([]NextRun, len(b.list)), make([]error, len(b.list))
	open := make([]int, len(b.list)) // those that are yet to be stored
	for i := range open {
		open[i] = i
	}
	for try := 1; len(open) > 0; try++ {
		some := make([]storage.Schedule, len(open))
		for k, i := range open {
			some[k] = b.list[i]
		}
		out, err := c.store.UpsertSchedules(ctx, b.queue, b.now, some)
		if err != nil {
			return nil, nil, err
		}
		var again []int
		for k, i := range open {
			runs[i], refused[i] = NextRun{out[k].ID, out[k].NextRun}, out[k].Err
			if errors.Is(refused[i], storage.ErrRunTaken) && b.crons[i] != nil && try < runTries {
				if b.list[i].NextRun, refused[i] = b.crons[i].next(b.list[i].NextRun); refused[i] == nil {
					again = append(again, i)
				}
			}
		}
		open = again
	}
	return runs, refused, nil
}
