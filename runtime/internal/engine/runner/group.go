package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/ledger"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Admit splits taken jobs into those that may run, and those whose outcome is
// decided: they are over the limit of their group and are delayed, or the function
// that returns the group failed.
func (r *Runner) Admit(ctx context.Context, jobs []*ledger.Job) (run, decided []*ledger.Job) {
	if r.GroupLimit.Max == 0 || len(jobs) == 0 {
		return jobs, nil
	}
	groups, errs := r.groupsOf(jobs)
	var grouped []storage.Grouped
	var whose []*ledger.Job
	for i, held := range jobs {
		switch {
		case errs[i] != nil:
			j := of(held)
			j.Err = Unrecoverable(fmt.Errorf("group of job %q on queue %q: %w", j.Record.ID, r.Queue, errs[i]))
			j.Outcome = r.Decide(j, nil, j.Err)
			decided = append(decided, held)
		case groups[i] != "":
			grouped = append(grouped, storage.Grouped{ID: held.Record.ID, Group: groups[i]})
			whose = append(whose, held)
		default:
			run = append(run, held)
		}
	}
	waits := r.admit(ctx, grouped)
	for i, j := range whose {
		if i >= len(waits) || waits[i] == 0 {
			run = append(run, j)
			continue
		}
		j.Outcome = storage.Settlement{ID: j.Record.ID, Token: j.Token, Kind: storage.DelayedUntil, Delay: waits[i]}
		decided = append(decided, j)
	}
	return run, decided
}

// groupsOf returns the groups of jobs, or why there is none. The functions are the
// program's, and are called apart from the goroutine that makes the worker's calls.
func (r *Runner) groupsOf(jobs []*ledger.Job) (groups []string, errs []error) {
	groups, errs = make([]string, len(jobs)), make([]error, len(jobs))
	for i := 0; i < len(jobs); {
		err := guard.Apart("the key of the group", func() error {
			for ; i < len(jobs); i++ {
				groups[i] = r.groupOf(jobs[i])
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

// groupOf returns the group of a job. A job that will not run has none.
func (r *Runner) groupOf(j *ledger.Job) string {
	if j.Record.Deferred != "" || j.Record.Missing {
		return ""
	}
	return r.Program.Group(of(j))
}

// admit asks for the jobs' places until the storage answers. When the worker gives
// up first, its jobs are left anyway. What is wrong with the limit itself is
// reported, and keeps no job from running.
func (r *Runner) admit(ctx context.Context, jobs []storage.Grouped) []time.Duration {
	var back outage.Backoff
	for {
		waits, err := r.Store.Admit(ctx, r.Queue, r.Now(), r.GroupLimit, jobs)
		if err == nil {
			r.Outage.Succeeded(outage.AdmitGroups)
		}
		if err == nil || ctx.Err() != nil {
			return waits
		}
		r.Outage.Failed(outage.AdmitGroups, err)
		if !storage.Outside(err) {
			return nil
		}
		back.Wait(ctx)
	}
}
