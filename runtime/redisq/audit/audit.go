// Package audit checks the keys of queues in use: that each job is in exactly
// one state, that no key belongs to nothing, that deduplication ids, parents
// and children refer to what exists, that workers are woken for waiting jobs,
// and more. It changes nothing unless you ask for repairs.
//
//	report, err := audit.Run(ctx, redis.NewClient(opts), audit.Queues("emails"))
//	for _, f := range report.Findings {
//		fmt.Println(f) // bull:emails:17: is in no state (state): put it back ...
//	}
//
// An audit reads in pages of a few hundred keys, and no command of it looks at
// more. What looks wrong while jobs move is read once more, with everything it
// depends on, in one step; only what is still wrong then becomes a finding. So
// an audit can run beside producers and workers, and every finding is real.
// Payloads are not transferred, unless you ask for [Payloads]. The ids of
// waiting and active jobs are kept in memory meanwhile: about 100 bytes each.
//
// The audit knows the keys of BullMQ 5 and 6 for Node and those of this module.
package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	invariants "github.com/bullmq-gen/bullmq-gen/internal/audit"
)

// Option configures [Run].
type Option func(*auditor)

// Prefix sets the key prefix of the queues. The default is "bull".
func Prefix(prefix string) Option { return func(a *auditor) { a.prefix = prefix } }

// Queues names the queues to audit. The default is every queue under the prefix.
func Queues(names ...string) Option { return func(a *auditor) { a.names = names } }

// Payloads makes the audit read payloads, results and events too, and check
// that they are JSON. It transfers everything that the queue holds.
func Payloads() Option { return func(a *auditor) { a.payloads = true } }

// Repair makes the audit repair each finding whose repair is provably right:
// see [Finding.Repairable]. The script that repairs checks the problem once
// more in the same step. No repair deletes a job, and none runs a finished one.
func Repair() Option { return func(a *auditor) { a.repair = true } }

// Peers5 says that BullMQ 5.x programs pause and resume the queues: a job that
// a repair puts back into a paused queue then goes where 5.x expects it.
func Peers5() Option { return func(a *auditor) { a.mode = "5" } }

// Logger sets where progress is logged, at level debug. The default is [slog.Default].
func Logger(log *slog.Logger) Option { return func(a *auditor) { a.log = log } }

// Report is what an audit found.
type Report struct {
	// Queues and Jobs count what was audited.
	Queues, Jobs int
	Findings     []Finding
}

// Sound reports whether nothing is wrong, or everything wrong was repaired.
func (r *Report) Sound() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return !f.Repaired })
}

// Finding is something that does not hold.
type Finding struct {
	Queue string
	// Rule is the name of the broken rule, such as "state" or "orphan". The
	// rules are listed in docs/audit.md.
	Rule string
	// Key is the key that is wrong, Job the id of the job concerned, if there is one.
	Key, Job string
	// Text says what is wrong, Cure what to do about it.
	Text, Cure string
	// Repairable reports whether Repair does what Cure says.
	Repairable bool
	// Repaired reports whether this audit did.
	Repaired bool
}

// String returns the finding and its cure in one line.
func (f Finding) String() string {
	end := f.Cure
	if f.Repaired {
		end = "repaired"
	}
	return fmt.Sprintf("%s: %s (%s): %s", f.Key, f.Text, f.Rule, end)
}

// Run audits queues. It returns an error if the server cannot be asked, and
// then the findings so far. The client belongs to the caller.
func Run(ctx context.Context, client redis.UniversalClient, opts ...Option) (*Report, error) {
	if client == nil {
		return nil, errors.New("audit: the client is nil")
	}
	a := &auditor{client: client, prefix: "bull", mode: "6", log: slog.Default(), now: time.Now}
	for _, o := range opts {
		o(a)
	}
	if err := a.valid(); err != nil {
		return nil, err
	}
	if err := a.run(ctx); err != nil {
		return &a.report, fmt.Errorf("audit: %w", err)
	}
	return &a.report, nil
}

type auditor struct {
	client   redis.UniversalClient
	prefix   string
	names    []string
	payloads bool
	repair   bool
	mode     string
	log      *slog.Logger
	now      func() time.Time
	report   Report
}

func (a *auditor) valid() error {
	if a.prefix == "" {
		return errors.New("audit: the prefix is empty")
	}
	for _, name := range a.names {
		if name == "" || strings.Contains(name, ":") {
			return fmt.Errorf("audit: %q is not the name of a queue: names are not empty and have no colon", name)
		}
	}
	return nil
}

func (a *auditor) run(ctx context.Context) error {
	all := a.names == nil
	if all {
		names, err := a.queues(ctx)
		if err != nil {
			return err
		}
		a.names = names
	}
	for _, name := range a.names {
		q := newQueue(a, name)
		err := q.run(ctx)
		a.report.Jobs += q.jobs
		if err != nil {
			return fmt.Errorf("queue %s: %w", name, err)
		}
		a.report.Queues++
		a.log.DebugContext(ctx, "bullmq: audited", "queue", name, "jobs", q.jobs)
	}
	if all {
		return a.owners(ctx)
	}
	return nil
}

// add records a problem, and repairs it if that is wanted.
func (a *auditor) add(ctx context.Context, queue string, p invariants.Problem) error {
	f := Finding{
		Queue: queue, Rule: string(p.Rule), Key: p.Key, Job: p.Job, Text: p.Text, Cure: p.Cure,
		Repairable: p.Fix.Op != "",
	}
	if a.repair && f.Repairable {
		done, err := a.fix(ctx, queue, p.Fix)
		if err != nil {
			return fmt.Errorf("repair %s: %w", p.Key, err)
		}
		f.Repaired = done
	}
	a.report.Findings = append(a.report.Findings, f)
	return nil
}
