package bullmqtest

import (
	"context"
	"testing"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// WorkParent is Work for the handler of a task with children: it gets in for
// what they returned, and no child is run.
//
//	report, err := bullmqtest.WorkParent(t, gen.BuildReportTask, reports{}.BuildReport,
//		tasks.BuildReport{Customer: "acme"}, gen.BuildReportResults{
//			Pages: []tasks.Page{{URL: "/1"}},
//			Logo:  bullmq.Outcome[[]byte]{Err: errors.New("gone")},
//		})
//
// A task without result takes bullmq.NoResultFlow(handler). Children that the
// handler itself adds are not worked: such a handler is tested on an Env, with
// workers of their queues.
func WorkParent[P, R, C any](t testing.TB, task *bullmq.Task[P, R], h func(context.Context, *bullmq.Job[P], C) (R, error), p P, in C, opts ...bullmq.AddOption) (R, error) {
	t.Helper()
	return Work(t, task, func(ctx context.Context, job *bullmq.Job[P]) (R, error) { return h(ctx, job, in) }, p, opts...)
}
