package bullmq

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Types in which a queue is read.
type (
	// Record is a job as it is stored.
	Record = storage.Record
	// WorkerInfo is a worker that is connected to a queue.
	WorkerInfo = storage.Worker
	// Finish is how a job ended.
	Finish = storage.Finish
	// Meta are the settings of a queue.
	Meta = storage.Meta
	// FinishedMetrics counts finished jobs, in all and by the minute.
	FinishedMetrics = storage.Metrics
	// DependencyCounts counts a parent's children by what became of them.
	DependencyCounts = storage.DependencyCounts
)

// Job reads a job.
func (q *Queue) Job(ctx context.Context, id string) (*Record, error) { return q.job(ctx, "read", id) }

// job reads a job for an operation that its error names.
func (q *Queue) job(ctx context.Context, op, id string) (*Record, error) {
	jobs, err := q.client.store.Jobs(ctx, q.name, id)
	if err != nil {
		return nil, err
	}
	if jobs[0] == nil {
		return nil, &storage.Error{Op: op, Queue: q.name, Job: id, Err: ErrJobNotFound}
	}
	return jobs[0], nil
}

// exists is ErrJobNotFound for a job that is not there. It is asked when there is
// nothing of a job to return.
func (q *Queue) exists(ctx context.Context, op, id string) error {
	_, err := q.job(ctx, op, id)
	return err
}

// Jobs reads the jobs of one state, newest first unless the call has the option
// OldestFirst. It returns the elements start to end of that order, both
// included; an end of -1 means the last one.
func (q *Queue) Jobs(ctx context.Context, state State, start, end int, opts ...ListOption) ([]Record, error) {
	return q.client.store.ListJobs(ctx, q.name, []State{state}, start, end, chosen(listing{}, opts).oldestFirst)
}

// State is where a job is; StateUnknown when there is none.
func (q *Queue) State(ctx context.Context, id string) (State, error) {
	return q.client.store.State(ctx, q.name, id)
}

// Finished is how a job ended: StateCompleted with its result as JSON text,
// StateFailed with its reason, StateUnknown when there is no such job, or an
// empty state when it is not finished.
func (q *Queue) Finished(ctx context.Context, id string) (Finish, error) {
	return q.client.store.Finish(ctx, q.name, id)
}

// DelayedBefore counts the jobs that become due strictly before t.
func (q *Queue) DelayedBefore(ctx context.Context, t time.Time) (int, error) {
	return q.client.store.DelayedBefore(ctx, q.name, t)
}

// Counts counts the jobs of each state given; without any, of all.
func (q *Queue) Counts(ctx context.Context, states ...State) (map[State]int, error) {
	if len(states) == 0 {
		states = storage.States
	}
	n, err := q.client.store.Counts(ctx, q.name, states...)
	if err != nil {
		return nil, err
	}
	counts := make(map[State]int, len(states))
	for i, s := range states {
		counts[s] = n[i]
	}
	return counts, nil
}

// CountsByPriority counts the waiting jobs of each priority given.
func (q *Queue) CountsByPriority(ctx context.Context, priorities ...int) (map[int]int, error) {
	n, err := q.client.store.CountsByPriority(ctx, q.name, priorities...)
	if err != nil {
		return nil, err
	}
	counts := make(map[int]int, len(n))
	for i, p := range priorities {
		counts[p] = n[i]
	}
	return counts, nil
}

// Logs reads a job's log lines, oldest first unless the call has the option
// NewestFirst. It returns the lines start to end of that order, both included,
// and the number of all lines; an end of -1 means the last one.
func (q *Queue) Logs(ctx context.Context, id string, start, end int, opts ...ListOption) (lines []string, total int, err error) {
	lines, total, err = q.client.store.Logs(ctx, q.name, id, start, end, chosen(listing{oldestFirst: true}, opts).oldestFirst)
	if err == nil && total == 0 {
		err = q.exists(ctx, "read the log", id)
	}
	return lines, total, err
}

// Metrics reads the counters of StateCompleted or StateFailed jobs, which
// workers keep that have the Metrics option.
func (q *Queue) Metrics(ctx context.Context, state State) (FinishedMetrics, error) {
	return q.client.store.Metrics(ctx, q.name, state, 0, -1)
}

// Workers lists the connected workers, of every language.
func (q *Queue) Workers(ctx context.Context) ([]WorkerInfo, error) {
	return q.client.store.Workers(ctx, q.name)
}

// Meta reads the queue's settings.
func (q *Queue) Meta(ctx context.Context) (Meta, error) { return q.client.store.Meta(ctx, q.name) }

// RateLimitTTL is how long no job may start because of the queue's rate limit.
func (q *Queue) RateLimitTTL(ctx context.Context) (time.Duration, error) {
	return q.client.store.RateLimitTTL(ctx, q.name, 0)
}

// DedupJobID is the id of the job that holds a deduplication id, or empty.
func (q *Queue) DedupJobID(ctx context.Context, id string) (string, error) {
	return q.client.store.DedupJobID(ctx, q.name, id)
}

// DependencyCounts counts a parent job's children by what became of them.
func (q *Queue) DependencyCounts(ctx context.Context, id string) (DependencyCounts, error) {
	n, err := q.client.store.DependencyCounts(ctx, q.name, id)
	if err == nil && n == (DependencyCounts{}) {
		err = q.exists(ctx, "count the children", id)
	}
	return n, err
}

// Prometheus is the queue's job counts in Prometheus' text format, under the
// names that peers use. Labels are name, value pairs added to each line.
func (q *Queue) Prometheus(ctx context.Context, labels ...string) (string, error) {
	if len(labels)%2 != 0 {
		return "", storage.Invalid("bullmq: labels are name, value pairs: %d is an odd number of them", len(labels))
	}
	counts, err := q.Counts(ctx)
	if err != nil {
		return "", err
	}
	var more strings.Builder
	for i := 0; i < len(labels); i += 2 {
		fmt.Fprintf(&more, `, %s="%s"`, labels[i], labelValue(labels[i+1]))
	}
	name := labelValue(q.name)
	lines := []string{"# HELP bullmq_job_count Number of jobs in the queue by state", "# TYPE bullmq_job_count gauge"}
	for _, s := range storage.States {
		lines = append(lines, fmt.Sprintf(`bullmq_job_count{queue="%s", state="%s"%s} %d`, name, s, more.String(), counts[s]))
	}
	for _, s := range []State{StateCompleted, StateFailed} {
		m, err := q.Metrics(ctx, s)
		if err != nil {
			return "", err
		}
		metric := "bullmq_job_" + string(s) + "_total"
		lines = append(lines, "# HELP "+metric+" Total number of "+string(s)+" jobs", "# TYPE "+metric+" counter",
			fmt.Sprintf(`%s{queue="%s"%s} %d`, metric, name, more.String(), m.Count))
	}
	return strings.Join(lines, "\n"), nil
}

func labelValue(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
}
