package behaviour

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	partsgen "example.com/FlowsAcrossPackagesWithTheirOutputs/parts/gen"
	parts "example.com/FlowsAcrossPackagesWithTheirOutputs/parts/tasks"
	wholegen "example.com/FlowsAcrossPackagesWithTheirOutputs/whole/gen"
	whole "example.com/FlowsAcrossPackagesWithTheirOutputs/whole/tasks"
	flowgen "example.com/FlowsOfEveryShape/gen"
	flow "example.com/FlowsOfEveryShape/tasks"
	twogen "example.com/OneChildOfTwoParents/gen"
	two "example.com/OneChildOfTwoParents/tasks"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/bullmqtest"
)

// press works all queues of FlowsOfEveryShape, and keeps what parents got.
type press struct {
	reports chan flowgen.BuildReportResults
	archive chan flowgen.ArchiveResults
	races   chan flowgen.RaceResults
}

func (p press) RenderPage(_ context.Context, job *bullmq.Job[flow.RenderPage]) (flow.Page, error) {
	if job.Data.Number < 0 {
		return flow.Page{}, fmt.Errorf("no page %d", job.Data.Number)
	}
	return page(job.Data.Number), nil
}

func (p press) FetchLogo(_ context.Context, job *bullmq.Job[flow.FetchLogo]) ([]byte, error) {
	if job.Data.Of == "" {
		return nil, errors.New("no logo")
	}
	return []byte(job.Data.Of), nil
}

func (p press) Notify(_ context.Context, job *bullmq.Job[flow.Notify]) error {
	if job.Data.To == "" {
		return errors.New("nobody")
	}
	return nil
}

func (p press) BuildReport(_ context.Context, _ *bullmq.Job[flow.BuildReport], in flowgen.BuildReportResults) (flow.Report, error) {
	p.reports <- in
	var r flow.Report
	for _, page := range in.Pages {
		r.Pages = append(r.Pages, page.URL)
	}
	logo, err := in.Logo.Get()
	r.Logo = string(logo)
	if err != nil {
		r.Logo = "none"
	}
	return r, nil
}

func (p press) Archive(_ context.Context, _ *bullmq.Job[flow.Archive], in flowgen.ArchiveResults) error {
	p.archive <- in
	return nil
}

func (p press) Race(_ context.Context, _ *bullmq.Job[flow.Race], in flowgen.RaceResults) (int, error) {
	p.races <- in
	return 0, nil
}

func page(n int) flow.Page { return flow.Page{URL: fmt.Sprint("/", n)} }

// printing starts all workers of the press.
func printing(t *testing.T) (*bullmqtest.Env, press) {
	t.Helper()
	env := bullmqtest.Start(t)
	p := press{make(chan flowgen.BuildReportResults, 9), make(chan flowgen.ArchiveResults, 9), make(chan flowgen.RaceResults, 9)}
	work(t, env, flowgen.ReportsQueue, func(w *bullmq.Worker) { flowgen.HandleReports(w, p) })
	work(t, env, flowgen.AssetsQueue, func(w *bullmq.Worker) { flowgen.HandleAssets(w, p) })
	work(t, env, flowgen.NoticesQueue, func(w *bullmq.Worker) { flowgen.HandleNotices(w, p) })
	work(t, env, flowgen.ArchiveQueue, func(w *bullmq.Worker) { flowgen.HandleArchiveQueue(w, p) })
	return env, p
}

func render(numbers ...int) []flowgen.RenderPageNode {
	nodes := make([]flowgen.RenderPageNode, len(numbers))
	for i, n := range numbers {
		nodes[i] = flowgen.FlowRenderPage(flow.RenderPage{Number: n})
	}
	return nodes
}

func logo(of string) flowgen.FetchLogoNode { return flowgen.FlowFetchLogo(flow.FetchLogo{Of: of}) }

func notify(to string) flowgen.NotifyNode { return flowgen.FlowNotify(flow.Notify{To: to}) }

// failed is an outcome's error, of a child that failed with the reason.
func failed(t *testing.T, err error, reason string) {
	t.Helper()
	var child *bullmq.ChildError
	require.ErrorAs(t, err, &child)
	require.Equal(t, reason, child.Reason)
}

func TestResultsComeBySlots(t *testing.T) {
	t.Parallel()
	env, p := printing(t)
	ctx := deadline(t)
	cover := render(9)[0]
	h, err := flowgen.EnqueueBuildReport(ctx, env.Client, flow.BuildReport{Customer: "acme", Rank: 3}, flowgen.BuildReportFlow{
		Pages:    render(3, 1, 2),
		Logo:     logo("acme"),
		Cover:    &cover,
		Charts:   map[string]flowgen.RenderPageNode{"north": render(7)[0], "by year: 2026": render(8)[0]},
		Notices:  []flowgen.NotifyNode{notify("ann")},
		Warnings: []flowgen.NotifyNode{notify("bob"), notify("")},
	})
	require.NoError(t, err)
	report, err := h.Result(ctx)
	require.NoError(t, err)
	require.Equal(t, flow.Report{Pages: []string{"/3", "/1", "/2"}, Logo: "acme"}, report)
	in := <-p.reports
	require.Equal(t, page(9), *in.Cover)
	require.Equal(t, map[string]flow.Page{"north": page(7), "by year: 2026": page(8)}, in.Charts)
	require.Len(t, in.Warnings, 2)
	require.NoError(t, in.Warnings[0].Err)
	failed(t, in.Warnings[1].Err, "nobody")
	require.Equal(t, 3, options(t, reaches(t, env, "reports", h.ID, bullmq.StateCompleted)).Priority)
}

func TestSlotsThatMayBeEmpty(t *testing.T) {
	t.Parallel()
	env, p := printing(t)
	ctx := deadline(t)
	h, err := flowgen.EnqueueBuildReport(ctx, env.Client, flow.BuildReport{}, flowgen.BuildReportFlow{Logo: logo("")})
	require.NoError(t, err)
	report, err := h.Result(ctx)
	require.NoError(t, err)
	require.Equal(t, "none", report.Logo)
	in := <-p.reports
	failed(t, in.Logo.Err, "no logo")
	require.Empty(t, in.Pages)
	require.Nil(t, in.Cover)
	require.Empty(t, in.Charts)
	require.Empty(t, in.Warnings)
}

// Each kind of slot whose child fails, by its policy.
func TestChildrenThatFail(t *testing.T) {
	t.Parallel()
	env, p := printing(t)
	ctx := deadline(t)
	fine := func() flowgen.BuildReportFlow { return flowgen.BuildReportFlow{Logo: logo("acme")} }

	broken := fine()
	broken.Pages = render(1, -1)
	h, err := flowgen.EnqueueBuildReport(ctx, env.Client, flow.BuildReport{}, broken)
	require.NoError(t, err)
	_, err = h.Result(ctx)
	require.ErrorIs(t, err, bullmq.ErrJobFailed, "onfail=fail")
	require.Empty(t, p.reports, "the parent was not run")

	waits := fine()
	waits.Charts = map[string]flowgen.RenderPageNode{"a": render(-1)[0]}
	waiting, err := flowgen.EnqueueBuildReport(ctx, env.Client, flow.BuildReport{}, waits)
	require.NoError(t, err)

	bad := logo("")
	last := notify("")
	archived, err := flowgen.EnqueueArchive(ctx, env.Client, flow.Archive{}, flowgen.ArchiveFlow{
		Report: flowgen.FlowBuildReport(flow.BuildReport{}, fine()),
		One:    logo(""),
		Maybe:  &bad,
		Many:   []flowgen.FetchLogoNode{logo("a"), logo(""), logo("c")},
		Keyed:  map[string]flowgen.FetchLogoNode{"x": logo("x"), "y": logo("")},
		Last:   &last,
		ByName: map[string]flowgen.RenderPageNode{"good": render(1)[0], "bad": render(-1)[0]},
	})
	require.NoError(t, err)
	_, err = archived.Result(ctx)
	require.NoError(t, err)
	in := <-p.archive
	require.Equal(t, "acme", in.Report.Logo, "a child that is a parent itself")
	require.ErrorIs(t, in.One.Err, bullmq.ErrNoChild)
	require.Nil(t, in.Maybe)
	require.Equal(t, [][]byte{[]byte("a"), []byte("c")}, in.Many)
	require.Equal(t, map[string][]byte{"x": []byte("x")}, in.Keyed)
	failed(t, in.Last.Err, "nobody")
	require.Equal(t, bullmq.Outcome[flow.Page]{Value: page(1)}, in.ByName["good"])
	failed(t, in.ByName["bad"].Err, "no page -1")

	reaches(t, env, "reports", waiting.ID, bullmq.StateWaitingChildren)
}

// A job that a failed child sets going at once learns which are not finished.
func TestParentThatBeginsEarly(t *testing.T) {
	t.Parallel()
	env, p := printing(t)
	ctx := deadline(t)
	later := func(n int) flowgen.RenderPageNode {
		return flowgen.FlowRenderPage(flow.RenderPage{Number: n}, bullmq.Delay(time.Hour))
	}
	doctor := later(1)
	_, err := flowgen.EnqueueRace(ctx, env.Client, flow.Race{}, flowgen.RaceFlow{
		Runners: []flowgen.RenderPageNode{later(1), render(-2)[0]},
		Judge:   later(3),
		Doctor:  &doctor,
		Guests:  map[string]flowgen.RenderPageNode{"ann": later(4)},
		Band:    flowgen.FlowNotify(flow.Notify{To: "all"}, bullmq.Delay(time.Hour)),
	})
	require.NoError(t, err)
	select {
	case in := <-p.races:
		require.ErrorIs(t, in.Runners[0].Err, bullmq.ErrChildPending)
		failed(t, in.Runners[1].Err, "no page -2")
		for _, pending := range []error{in.Judge.Err, in.Doctor.Err, in.Guests["ann"].Err, in.Band.Err} {
			require.ErrorIs(t, pending, bullmq.ErrChildPending)
		}
	case <-ctx.Done():
		t.Fatal("the parent never began")
	}
}

// Nothing is written of a flow that lacks a child, at any depth.
func TestIncompleteFlow(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	ctx := deadline(t)
	incomplete := flowgen.BuildReportFlow{Pages: render(1)}
	for path, add := range map[string]func() error{
		"build-report": func() error {
			_, err := flowgen.EnqueueBuildReport(ctx, env.Client, flow.BuildReport{}, incomplete)
			return err
		},
		"archive.report": func() error {
			_, err := flowgen.EnqueueArchive(ctx, env.Client, flow.Archive{}, flowgen.ArchiveFlow{
				Report: flowgen.FlowBuildReport(flow.BuildReport{}, incomplete), One: logo("a"),
			})
			return err
		},
		"race": func() error {
			_, err := flowgen.EnqueueRace(ctx, env.Client, flow.Race{}, flowgen.RaceFlow{Runners: make([]flowgen.RenderPageNode, 1)})
			return err
		},
	} {
		err := add()
		require.ErrorIs(t, err, bullmq.ErrIncompleteFlow)
		var where *bullmq.FlowError
		require.ErrorAs(t, err, &where)
		require.Equal(t, path, where.Path)
	}
	bullmqtest.RequireNotEnqueued(t, env, flowgen.BuildReportTask)
	bullmqtest.RequireNotEnqueued(t, env, flowgen.ArchiveTask)
	bullmqtest.RequireNotEnqueued(t, env, flowgen.RenderPageTask)
	bullmqtest.RequireNotEnqueued(t, env, flowgen.FetchLogoTask)
	bullmqtest.RequireNotEnqueued(t, env, flowgen.RaceTask)
}

// A flow with an id is added once, and its parts have the options of their tasks
// and of their nodes.
func TestFlowWithAnID(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	ctx := deadline(t)
	add := func() *bullmq.JobHandle[flow.Report] {
		h, err := flowgen.EnqueueBuildReport(ctx, env.Client, flow.BuildReport{}, flowgen.BuildReportFlow{
			Pages: []flowgen.RenderPageNode{flowgen.FlowRenderPage(flow.RenderPage{Number: 1}, bullmq.Priority(5), bullmq.Attempts(3))},
			Logo:  logo("a"),
		}, bullmq.JobID("monday"))
		require.NoError(t, err)
		return h
	}
	require.False(t, add().Existing)
	require.True(t, add().Existing)
	child := bullmqtest.RequireEnqueued(t, env, flowgen.RenderPageTask)
	require.Equal(t, 5, child.Options.Priority)
	require.Equal(t, 3, child.Options.Attempts)
	require.True(t, strings.HasPrefix(child.ID, "pages.0."), child.ID)
	parent := bullmqtest.RequireEnqueued(t, env, flowgen.BuildReportTask)
	require.Equal(t, "monday", parent.ID)
	require.Equal(t, bullmq.StateWaitingChildren, parent.State)
	require.Equal(t, 2, parent.Options.Attempts)
}

// A program that knows no slots adds the children: they are placed by the names
// of their tasks.
func TestChildrenAddedByNames(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	ctx := deadline(t)
	got := make(chan twogen.AResults, 1)
	work(t, env, twogen.QQueue, func(w *bullmq.Worker) {
		twogen.HandlePart(w, func(context.Context, *bullmq.Job[two.Part]) (int, error) { return 7, nil })
		twogen.HandleA(w, func(_ context.Context, _ *bullmq.Job[two.A], in twogen.AResults) error {
			got <- in
			return nil
		})
	}, bullmq.AllowPartial())
	root := bullmq.NewNode("q", "a", two.A{})
	root.Children = []*bullmq.Node{bullmq.NewNode("q", "part", two.Part{}), bullmq.NewNode("q", "part", two.Part{})}
	handles, err := env.Client.AddFlows(ctx, root)
	require.NoError(t, err)
	_, err = handles[0].Result(ctx)
	require.NoError(t, err)
	require.Equal(t, twogen.AResults{Parts: []int{7, 7}}, <-got)
}

func TestFlowAcrossOutputs(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	ctx := deadline(t)
	work(t, env, partsgen.PartsQueue, func(w *bullmq.Worker) {
		partsgen.HandleDraw(w, func(_ context.Context, job *bullmq.Job[parts.Draw]) (parts.Drawing, error) {
			return parts.Drawing{Lines: strings.Fields(job.Data.What)}, nil
		})
	})
	work(t, env, wholegen.BooksQueue, func(w *bullmq.Worker) {
		wholegen.HandleBind(w, func(_ context.Context, _ *bullmq.Job[whole.Bind], in wholegen.BindResults) (int, error) {
			lines := len(in.Cover.Value.Lines)
			for _, d := range in.Drawings {
				lines += len(d.Lines)
			}
			return lines, in.Cover.Err
		})
	})
	cover := partsgen.FlowDraw(parts.Draw{What: "x"})
	h, err := wholegen.EnqueueBind(ctx, env.Client, whole.Bind{}, wholegen.BindFlow{
		Drawings: []partsgen.DrawNode{partsgen.FlowDraw(parts.Draw{What: "a b"}), partsgen.FlowDraw(parts.Draw{What: "c d e"})},
		Cover:    &cover,
	})
	require.NoError(t, err)
	lines, err := h.Result(ctx)
	require.NoError(t, err)
	require.Equal(t, 6, lines)
}

// A handler adds children to its own job, and runs again with their results.
func TestChildrenAddedByTheHandler(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	ctx := deadline(t)
	var drawn, runs atomic.Int32
	waits := make(chan struct{})
	work(t, env, partsgen.PartsQueue, func(w *bullmq.Worker) {
		partsgen.HandleDraw(w, func(_ context.Context, job *bullmq.Job[parts.Draw]) (parts.Drawing, error) {
			drawn.Add(1)
			<-waits
			return parts.Drawing{Lines: strings.Fields(job.Data.What)}, nil
		})
	})
	work(t, env, wholegen.BooksQueue, func(w *bullmq.Worker) {
		wholegen.HandleBind(w, func(ctx context.Context, job *bullmq.Job[whole.Bind], in wholegen.BindResults) (int, error) {
			first := runs.Add(1) == 1
			if first != (len(in.Drawings) == 0) {
				return 0, bullmq.Unrecoverable(fmt.Errorf("run %d has %d drawings", runs.Load(), len(in.Drawings)))
			}
			in, err := wholegen.AddBindChildren(ctx, job, "draw", wholegen.BindFlow{
				Drawings: []partsgen.DrawNode{partsgen.FlowDraw(parts.Draw{What: "a b"}), partsgen.FlowDraw(parts.Draw{What: "c d e"})},
			})
			if err != nil {
				close(waits)
				return 0, err
			}
			return 10*len(in.Drawings[0].Lines) + len(in.Drawings[1].Lines), nil
		})
	})
	h, err := wholegen.EnqueueBind(ctx, env.Client, whole.Bind{}, wholegen.BindFlow{})
	require.NoError(t, err)
	lines, err := h.Result(ctx)
	require.NoError(t, err)
	require.Equal(t, 23, lines, "in their order")
	require.EqualValues(t, 2, drawn.Load(), "added once")
	require.EqualValues(t, 2, runs.Load())
}

// A handler that is not there is told when the worker starts.
func TestParentWithoutAHandler(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	for _, handle := range []func(w *bullmq.Worker){
		func(w *bullmq.Worker) { flowgen.HandleArchive(w, nil) },
		func(w *bullmq.Worker) { flowgen.HandleRace(w, nil) },
	} {
		w, err := bullmq.NewWorker(env.Client, flowgen.ArchiveQueue, bullmq.AllowPartial())
		require.NoError(t, err)
		handle(w)
		require.ErrorContains(t, w.Start(deadline(t)), "nil handler")
	}
}
