package bullmq

import (
	"context"
	"fmt"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// GroupLimit is a rate limit for each group of jobs by itself, such as each
// tenant: at most n of a group start in each window of per. A job over its
// group's limit is delayed to a window that has room, without counting an
// attempt, and holds no slot meanwhile, so that one group cannot keep others
// from running. Windows go to the jobs of a group in the order in which workers
// ask for them: jobs that are taken at the same moment may change places. Key tells the group of a job; empty: none, and no
// limit. A nil key: what the payload's field says that is declared as the
// group. It holds for jobs that Go workers with this option take; Node workers
// know no groups and run such jobs as they come.
func GroupLimit(n int, per time.Duration, key func(*ActiveJob) string) WorkerOption {
	return workerOption(func(c *workerConfig) { c.groupLimit, c.groupKey = RateLimit{Max: n, Per: per}, key })
}

// overLimit splits taken jobs into those that may run, and those whose outcome is
// decided: they are over the limit of their group, and are then to be delayed, or
// the function that tells the group failed.
func (w *Worker) overLimit(ctx context.Context, jobs []*ActiveJob) (run, over []*ActiveJob) {
	if w.cfg.groupLimit.Max == 0 || len(jobs) == 0 {
		return jobs, nil
	}
	groups, errs := w.groupsOf(jobs)
	var grouped []storage.Grouped
	var whose []*ActiveJob
	for i, j := range jobs {
		switch {
		case errs[i] != nil:
			j.err = Unrecoverable(fmt.Errorf("group of job %q on queue %q: %w", j.ID, j.Queue, errs[i]))
			j.end = w.decide(j, nil, j.err)
			over = append(over, j)
		case groups[i] != "":
			grouped = append(grouped, storage.Grouped{ID: j.ID, Group: DedupKey(groups[i])})
			whose = append(whose, j)
		default:
			run = append(run, j)
		}
	}
	waits := w.admit(ctx, grouped)
	for i, j := range whose {
		if i >= len(waits) || waits[i] == 0 {
			run = append(run, j)
			continue
		}
		j.end = storage.Settlement{ID: j.ID, Token: j.token, Kind: storage.DelayedUntil, Delay: waits[i]}
		over = append(over, j)
	}
	return run, over
}

// groupsOf are the groups of jobs, or why there is none. The functions are the
// program's, and are called apart from the goroutine that makes the worker's calls.
func (w *Worker) groupsOf(jobs []*ActiveJob) (groups []string, errs []error) {
	groups, errs = make([]string, len(jobs)), make([]error, len(jobs))
	for i := 0; i < len(jobs); {
		err := guard.Apart("the key of the group", func() error {
			for ; i < len(jobs); i++ {
				groups[i] = w.groupOf(jobs[i])
			}
			return nil
		})
		if err != nil {
			errs[i] = err
			i++
		}
	}
	return groups, errs
}

// admit asks for the jobs' places until it is told. When the worker gives up
// first, its jobs are left anyway. What is wrong with the limit itself is
// reported, and keeps no job from running.
func (w *Worker) admit(ctx context.Context, jobs []storage.Grouped) []time.Duration {
	limit := storage.RateLimit{Max: w.cfg.groupLimit.Max, Per: w.cfg.groupLimit.Per}
	back := newBackoff()
	for {
		waits, err := w.store.Admit(ctx, w.queue.Name, w.now(), limit, jobs)
		if err == nil {
			w.outage.over(w, lookUpLimits)
		}
		if err == nil || ctx.Err() != nil {
			return waits
		}
		w.outage.report(w, lookUpLimits, err)
		if !storage.Outside(err) {
			return nil
		}
		back.wait(ctx)
	}
}

// groupOf is the group of a job; empty: none.
func (w *Worker) groupOf(j *ActiveJob) string {
	if j.record.Deferred != "" || j.record.Missing {
		return "" // it is not run
	}
	if w.cfg.groupKey != nil {
		return w.cfg.groupKey(j)
	}
	if group := w.groups[j.Name]; group != nil {
		return group(j)
	}
	return ""
}
