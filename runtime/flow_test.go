package bullmq

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
)

// The tasks of these tests: a report is made of pages, a logo, perhaps a cover,
// and texts by language.
type (
	page   struct{ Number int }
	logo   struct{}
	report struct{ Customer string }

	pageNode struct{ *Node } // as generated code has it
	logoNode struct{ *Node }
)

var (
	pagesQueue   = &QueueSpec{Name: "pages", KeepCompleted: KeepLast(100)}
	reportsQueue = &QueueSpec{Name: "reports"}

	pageTask = NewTask[page, string](Spec{Queue: pagesQueue, Name: "render-page", Aliases: []string{"draw-page"}, Attempts: 2}, nil)
	logoTask = NewTask[logo, []byte](Spec{Queue: pagesQueue, Name: "fetch-logo"}, nil)

	reportTask = NewTask[report, string](Spec{
		Queue: reportsQueue, Name: "build-report",
		Slots: []SlotSpec{
			{Name: "pages", Kind: SlotMany, Queue: "pages", Job: "render-page", Aliases: []string{"draw-page"}},
			{Name: "logo", Queue: "pages", Job: "fetch-logo", OnFail: OnFailIgnore},
		},
	}, nil)
)

func pageOf(n int, opts ...NodeOption) pageNode {
	return pageNode{pageTask.Node(page{n}, opts...)}
}

func logoOf(opts ...NodeOption) logoNode { return logoNode{logoTask.Node(logo{}, opts...)} }

// reportIn is what generated code reads for the handler of a report.
type reportIn struct {
	Pages []string
	Logo  Outcome[[]byte]
}

func readReport(c *ChildSet) (in reportIn, err error) {
	err = errors.Join(ReadMany(c, "pages", &in.Pages), ReadOne(c, "logo", &in.Logo))
	return in, err
}

func slotsOf(l logoNode, pages ...pageNode) []Slot {
	return []Slot{ManyChildren("pages", pages), OneChild("logo", l)}
}

func flowKit(t *testing.T) *kit {
	t.Helper()
	return newKit(t, testredis.Any(t))
}

// start runs a worker on a queue until the end of the test.
func (k *kit) start(q *QueueSpec, handle func(*Worker), opts ...WorkerOption) *Worker {
	k.Helper()
	w, err := NewWorker(k.client, q, append([]WorkerOption{drainDelay(500 * time.Millisecond), GracePeriod(5 * time.Second)}, opts...)...)
	require.NoError(k, err)
	handle(w)
	require.NoError(k, w.Start(context.Background()))
	k.Cleanup(func() { _ = w.Stop(context.Background()) })
	return w
}

func renderPage(_ context.Context, job *Job[page]) (string, error) {
	return fmt.Sprint("page ", job.Data.Number), nil
}

func fetchLogo(context.Context, *Job[logo]) ([]byte, error) { return []byte("logo"), nil }

func bind(_ context.Context, job *Job[report], in reportIn) (string, error) {
	logo := "no logo"
	if in.Logo.Err == nil {
		logo = string(in.Logo.Value)
	}
	return fmt.Sprintf("%s: %s, %s", job.Data.Customer, strings.Join(in.Pages, " "), logo), nil
}

// workPages runs the children's worker.
func (k *kit) workPages(opts ...WorkerOption) *Worker {
	return k.start(pagesQueue, func(w *Worker) {
		pageTask.Handle(w, renderPage)
		logoTask.Handle(w, fetchLogo)
	}, opts...)
}

func (k *kit) workReports(opts ...WorkerOption) *Worker {
	return k.start(reportsQueue, func(w *Worker) { HandleFlow(reportTask, w, readReport, bind) }, opts...)
}

func (k *kit) addReport(slots []Slot, opts ...AddOption) *JobHandle[string] {
	k.Helper()
	h, err := reportTask.AddFlow(k.ctx, k.client, report{"acme"}, slots, opts...)
	require.NoError(k, err)
	return h
}

func value[R any](k *kit, h *JobHandle[R]) R {
	k.Helper()
	r, err := h.Result(k.ctx)
	require.NoError(k, err)
	return r
}

func TestTypedFlow(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	var pages []pageNode
	for n := range 12 {
		pages = append(pages, pageOf(n, Priority(1+n%3)))
	}
	h := k.addReport(slotsOf(logoOf(), pages...), Priority(4))
	require.False(t, h.Existing)
	state, err := h.State(k.ctx)
	require.NoError(t, err)
	require.Equal(t, StateWaitingChildren, state)
	k.workReports()
	k.workPages(Concurrency(5))
	require.Equal(t, "acme: page 0 page 1 page 2 page 3 page 4 page 5 page 6 page 7 page 8 page 9 page 10 page 11, logo", value(k, h))
}

// The place of a child stands in its id, and its options are the task's, those
// of the queue among them, then the node's.
func TestFlowChildrenAsStored(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	h := k.addReport(slotsOf(logoOf(), pageOf(0), pageOf(1, Delay(time.Hour), Attempts(5), WhenFails(OnFailFail))))
	require.NoError(t, uuid.Validate(h.ID))
	children, err := k.store.Children(k.ctx, "bull:reports:"+h.ID)
	require.NoError(t, err)
	byPlace := map[string]*Record{}
	for _, c := range children {
		_, id := splitKey(c.Key)
		slot, at, ok := placeOf(id)
		require.True(t, ok, id)
		r, err := k.client.Queue("pages").Job(k.ctx, id)
		require.NoError(t, err)
		byPlace[slot+at] = r
	}
	require.Len(t, byPlace, 3)
	parent := `"parent":{"id":"` + h.ID + `","queue":"bull:reports"}`
	require.JSONEq(t, `{"attempts":2,"removeOnComplete":100,`+parent+`}`, string(byPlace["pages0"].Opts))
	require.JSONEq(t, `{"attempts":5,"delay":3600000,"removeOnComplete":100,"fpof":true,`+parent+`}`, string(byPlace["pages1"].Opts))
	require.JSONEq(t, `{"attempts":0,"removeOnComplete":100,"idof":true,`+parent+`}`, string(byPlace["logo0"].Opts))
	require.JSONEq(t, `{"id":"`+h.ID+`","queueKey":"bull:reports","idof":true}`, string(byPlace["logo0"].Parent))
	require.Equal(t, "bull:reports:"+h.ID, byPlace["logo0"].ParentKey)
	require.JSONEq(t, `{"Number":1}`, string(byPlace["pages1"].Data))
	require.JSONEq(t, `{"attempts":0}`, string(must(k.client.Queue("reports").Job(k.ctx, h.ID)).Opts))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A flow is added once for an id of one's own, whatever is below it.
func TestFlowWithJobID(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	first := k.addReport(slotsOf(logoOf(), pageOf(1)), JobID("report-1"))
	require.Equal(t, "report-1", first.ID)
	require.False(t, first.Existing)
	again := k.addReport(slotsOf(logoOf(), pageOf(1), pageOf(2)), JobID("report-1"))
	require.Equal(t, "report-1", again.ID)
	require.True(t, again.Existing)
	counts, err := k.client.Queue("pages").Counts(k.ctx, StateWaiting)
	require.NoError(t, err)
	require.Equal(t, map[State]int{StateWaiting: 2}, counts)
	k.workReports()
	k.workPages()
	require.Equal(t, "acme: page 1, logo", value(k, again))
}

// A task whose slots are all empty has plain jobs.
func TestFlowWithoutChildren(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	task := NewTask[report, string](Spec{Queue: reportsQueue, Name: "digest", Slots: []SlotSpec{
		{Name: "pages", Kind: SlotMany, Queue: "pages", Job: "render-page"},
		{Name: "cover", Kind: SlotOptional, Queue: "pages", Job: "render-page"},
	}}, nil)
	h, err := task.AddFlow(k.ctx, k.client, report{}, []Slot{ManyChildren[pageNode]("pages", nil), OptionalChild[pageNode]("cover", nil)}, Priority(3))
	require.NoError(t, err)
	require.Equal(t, "1", h.ID)
	state, err := h.State(k.ctx)
	require.NoError(t, err)
	require.Equal(t, StatePrioritized, state)
	k.start(reportsQueue, func(w *Worker) {
		task.Handle(w, func(ctx context.Context, job *Job[report]) (string, error) {
			pages, err := ChildResults[string](ctx, job, "pages")
			if err != nil {
				return "", err
			}
			c, err := job.Children(ctx)
			if err != nil {
				return "", err
			}
			var cover *string
			err = ReadOptional(c, "cover", &cover)
			return fmt.Sprint(len(pages), cover == nil), err
		})
	})
	require.Equal(t, "0 true", value(k, h))
}

// Flows nest, and so do their slots: three levels with 20 children each.
func TestNestedFlow(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	leafQueue, midQueue, rootQueue := &QueueSpec{Name: "leaves"}, &QueueSpec{Name: "middle"}, &QueueSpec{Name: "root"}
	leaf := NewTask[int, int](Spec{Queue: leafQueue, Name: "leaf"}, nil)
	mid := NewTask[int, int](Spec{Queue: midQueue, Name: "mid", Slots: []SlotSpec{{Name: "leaves", Kind: SlotMany, Queue: "leaves", Job: "leaf"}}}, nil)
	root := NewTask[string, int](Spec{Queue: rootQueue, Name: "root", Slots: []SlotSpec{{Name: "by-name", Kind: SlotKeyed, Queue: "middle", Job: "mid"}}}, nil)
	const fan = 20
	mids := map[string]*Node{}
	want := 0
	for i := range fan {
		var leaves []*Node
		for n := range fan {
			leaves = append(leaves, leaf.Node(i*fan+n))
			want += (i*fan + n) * (n + 1)
		}
		mids[fmt.Sprintf("é: %d/%%", i)] = mid.NodeWith(i, []Slot{ManyChildren("leaves", leaves)})
	}
	h, err := root.AddFlow(k.ctx, k.client, "sum", []Slot{KeyedChildren("by-name", mids)})
	require.NoError(t, err)
	k.start(leafQueue, func(w *Worker) {
		leaf.Handle(w, func(_ context.Context, job *Job[int]) (int, error) { return job.Data, nil })
	}, Concurrency(20))
	k.start(midQueue, func(w *Worker) {
		mid.Handle(w, func(ctx context.Context, job *Job[int]) (int, error) {
			ns, err := ChildResults[int](ctx, job, "leaves")
			sum := 0
			for i, n := range ns {
				sum += n * (i + 1)
			}
			return sum, err
		})
	}, Concurrency(5))
	k.start(rootQueue, func(w *Worker) {
		HandleFlow(root, w, func(c *ChildSet) (m map[string]int, err error) {
			err = ReadKeyed(c, "by-name", &m)
			return m, err
		}, func(_ context.Context, _ *Job[string], in map[string]int) (int, error) {
			sum := 0
			for i := range fan {
				n, ok := in[fmt.Sprintf("é: %d/%%", i)]
				if !ok {
					return 0, fmt.Errorf("no result %d in %v", i, in)
				}
				sum += n
			}
			return sum, nil
		})
	})
	require.Equal(t, want, value(k, h))
}

// Everything that is wrong with a flow is said before anything is written, and
// where it is.
func TestFlowProblems(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	one := []SlotSpec{{Name: "a", Queue: "pages", Job: "render-page"}, {Name: "b", Kind: SlotMany, Queue: "pages", Job: "render-page"}}
	task := NewTask[report, string](Spec{Queue: reportsQueue, Name: "strict", Slots: one}, nil)
	ids := NewTask[page, string](Spec{Queue: pagesQueue, Name: "render-page"}, func(p *page) PayloadOptions { return PayloadOptions{JobID: fmt.Sprint("p", p.Number)} })
	dedup := NewTask[page, string](Spec{Queue: pagesQueue, Name: "render-page", Dedup: Dedup{TTL: time.Second}}, func(*page) PayloadOptions { return PayloadOptions{Dedup: "x"} })
	bad := NewTask[page, string](Spec{Queue: pagesQueue, Name: ""}, nil)
	a := OneChild("a", pageOf(0))
	b := func(ns ...*Node) Slot { return ManyChildren("b", ns) }
	for want, slots := range map[string][]Slot{
		`the flow is not complete: slot "a" is missing`:                  {b()},
		`the flow is not complete: slot "a" has no child at a`:           {OneChild("a", pageNode{})},
		`the flow is not complete: slot "b" has no child at b[1]`:        {a, b(pageTask.Node(page{}), nil)},
		`the task declares no slot "c"`:                                  {a, ManyChildren("c", []pageNode{})},
		`slot "b" is declared as any number of children and given as ex`: {a, OneChild("b", pageOf(0))},
		`slot "a" is given twice`:                                        {a, a},
		`slot "b" is for pages/render-page, not for pages/fetch-logo`:    {a, ManyChildren("b", []logoNode{logoOf()})},
		`slot "b" has a policy of its own`:                               {a, b(pageTask.Node(page{}, WhenFails(OnFailIgnore)))},
		`slots "b" and "a" are for the same task`:                        {a, b(ids.Node(page{}))},
		`strict.b[1] (pages/render-page): a job cannot be deduplicated`:  {a, b(pageTask.Node(page{}), dedup.Node(page{}))},
		`strict.a (/): bullmq: task "": the name of a task`:              {OneChild("a", bad.Node(page{}))},
		`strict.b[0] (pages/render-page): priority must be from 0`:       {a, b(pageTask.Node(page{}, Priority(-1)))},
		`strict.b[0] (pages/render-page): there is no policy "x"`:        {a, b(pageTask.Node(page{}, WhenFails("x")))},
		`delay must not be negative`:                                     {a, b(pageTask.Node(page{}, Delay(-time.Second)))},
		`slot name "x.y": use letters`:                                   {a, OneChild("x.y", pageOf(0))},
	} {
		_, err := task.AddFlow(k.ctx, k.client, report{}, slots)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "bullmq: add reports/strict: strict", want)
		require.Equal(t, strings.Contains(want, "not complete"), errors.Is(err, ErrIncompleteFlow), want)
	}
	_, err := reportTask.AddFlow(k.ctx, k.client, report{}, slotsOf(logoOf()), Deduplicate(Dedup{ID: "d"}))
	require.ErrorContains(t, err, "a job that waits for children cannot be deduplicated")
	_, err = reportTask.AddFlow(k.ctx, nil, report{}, nil)
	require.ErrorContains(t, err, "no client")
	_, err = bad.AddFlow(k.ctx, k.client, page{}, nil)
	require.ErrorContains(t, err, "the name of a task must not be empty")
	require.Empty(t, k.server.Client(t).Keys(k.ctx, "*").Val())
}

func TestSlotDeclarations(t *testing.T) {
	t.Parallel()
	for want, slots := range map[string][]SlotSpec{
		`slot name "a.b"`:                      {{Name: "a.b", Queue: "q", Job: "j"}},
		`slot name ""`:                         {{Queue: "q", Job: "j"}},
		`slot name "1"`:                        {{Name: "1", Queue: "q", Job: "j"}},
		`two slots are named "a"`:              {{Name: "a", Queue: "q", Job: "j"}, {Name: "a", Queue: "q", Job: "j"}},
		`there is no kind 9`:                   {{Name: "a", Queue: "q", Job: "j", Kind: 9}},
		`slot "a" needs the queue`:             {{Name: "a", Job: "j"}},
		`there is no policy "fail" for childr`: {{Name: "a", Queue: "q", Job: "j", OnFail: "fail"}},
	} {
		task := NewTask[int, int](Spec{Queue: reportsQueue, Name: "x", Slots: slots}, nil)
		require.ErrorContains(t, task.Err(), want)
	}
	require.Equal(t, "exactly one child", SlotOne.String())
	require.Equal(t, "kind 7", SlotKind(7).String())
}

// A program that knows no tasks adds forests of nodes.
func TestAddFlows(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	child := NewNode("pages", "render-page", page{7}, WhenFails(OnFailIgnore))
	root := NewNode("reports", "build-report", report{"bob"}, Delay(0))
	root.Children = []*Node{child, child, NewNode("pages", "fetch-logo", logo{})}
	lone := NewNode("reports", "build-report", report{"lone"})
	lone.Opts.JobID = "lone"
	handles, err := k.client.AddFlows(k.ctx, root, lone)
	require.NoError(t, err)
	require.Len(t, handles, 2)
	require.Equal(t, "lone", handles[1].ID)
	require.Empty(t, handles[1].Children)
	require.Len(t, handles[0].Children, 3)
	require.NotEqual(t, handles[0].Children[0].ID, handles[0].Children[1].ID)
	k.start(reportsQueue, func(w *Worker) {
		reportTask.Handle(w, func(ctx context.Context, job *Job[report]) (string, error) {
			c, err := job.Children(ctx)
			return fmt.Sprint(job.Data.Customer, " ", c.Counts().Processed), err
		})
	})
	k.workPages()
	require.JSONEq(t, `"bob 3"`, string(value(k, handles[0].JobHandle)))
	require.JSONEq(t, `"lone 0"`, string(value(k, handles[1].JobHandle)))
	require.JSONEq(t, `"page 7"`, string(value(k, handles[0].Children[1].JobHandle)))

	lone.Children = []*Node{child}
	child.Children = []*Node{NewNode("pages", "fetch-logo", logo{})}
	handles, err = k.client.AddFlows(k.ctx, lone, child)
	require.NoError(t, err)
	require.True(t, handles[0].Existing)
	require.Empty(t, handles[0].Children)
	require.Equal(t, "pages", handles[1].Children[0].Queue)

	handles, err = k.client.AddFlows(k.ctx)
	require.NoError(t, err)
	require.Empty(t, handles)
}

func TestAddFlowsProblems(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	loop := NewNode("q", "loop", 1)
	loop.Children = []*Node{loop}
	parented := NewNode("q", "c", 1)
	parented.Opts.Parent = &Parent{Queue: "q", ID: "x"}
	deduped := func() *Node { n := NewNode("q", "d", 1); n.Opts.Dedup = &Dedup{ID: "x"}; return n }
	with := func(n *Node, children ...*Node) *Node { n.Children = children; return n }
	sameID := func(id string) *Node { n := NewNode("q", "same", 1); n.Opts.JobID = id; return n }
	for want, roots := range map[string][]*Node{
		"root 2 (/): there is no node":                               {NewNode("q", "a", 1), nil},
		"r.children[1] (/): there is no node":                        {with(NewNode("q", "r", 1), NewNode("q", "a", 1), nil)},
		"does a node contain itself":                                 {loop},
		`queue name "a:b" must not contain a colon`:                  {NewNode("a:b", "x", 1)},
		"the queue's name is empty":                                  {NewNode("", "x", 1)},
		"the name of a task must not be empty":                       {NewNode("q", "", 1)},
		"x (q/x): payload: at $: chan int has no form in JSON":       {NewNode("q", "x", make(chan int))},
		"r.children[0] (q/c): a child within a flow has its parent":  {with(NewNode("q", "r", 1), parented)},
		"r.children[0] (q/d): a job cannot be deduplicated and be":   {with(NewNode("q", "r", 1), deduped())},
		"d (q/d): a job that waits for children cannot be deduplica": {with(deduped(), NewNode("q", "a", 1))},
		`id "s"): another job of the flow has the same id`:           {with(NewNode("q", "r", 1), with(NewNode("q", "p", 1), sameID("s")), sameID("s"))},
		`job id "7" must not be an integer`:                          {sameID("7")},
		`must not contain a colon: its parent would not find it`:     {sameID("a:b:c")},
		`c (q/c, id "`:            {parented}, // there is no such parent
		`its payload is not JSON`: {{Queue: "q", Name: "x"}},
	} {
		_, err := k.client.AddFlows(k.ctx, roots...)
		require.ErrorContains(t, err, want)
	}
	_, err := k.client.AddFlows(k.ctx, parented)
	require.ErrorIs(t, err, ErrNoParent)
	var refused *FlowError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "c", refused.Path)
	require.Empty(t, k.server.Client(t).Keys(k.ctx, "*").Val(), "nothing was written")
}

// A child that belongs to another parent refuses the whole flow: its new parent
// would wait for it for ever.
func TestFlowWithAnothersChild(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	shared := func() *Node { n := NewNode("pages", "render-page", page{1}); n.Opts.JobID = "shared"; return n }
	first := NewNode("reports", "build-report", report{"a"})
	first.Children = []*Node{shared()}
	_, err := k.client.AddFlows(k.ctx, first)
	require.NoError(t, err)
	second := NewNode("reports", "build-report", report{"b"})
	second.Children = []*Node{NewNode("pages", "render-page", page{2}), shared()}
	_, err = k.client.AddFlows(k.ctx, second)
	require.ErrorIs(t, err, ErrOtherParent)
	require.EqualError(t, err, `bullmq: add flows: build-report.children[1] (pages/render-page, id "shared"): job belongs to another parent`)
	counts, err := k.client.Queue("reports").Counts(k.ctx, StateWaitingChildren)
	require.NoError(t, err)
	require.Equal(t, 1, counts[StateWaitingChildren])
}

// Keys below another prefix are other queues; a worker there tells the parent here.
func TestFlowAcrossPrefixes(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	h := k.addReport(slotsOf(logoOf(UnderPrefix("far:away")), pageOf(1)))
	far := k.under("far:away")
	k.workPages()
	k.workReports()
	far.workPages()
	require.Equal(t, "acme: page 1, logo", value(k, h))
	tree, err := k.client.Queue("reports").Flow(k.ctx, h.ID, 0, 0)
	require.NoError(t, err)
	queues := map[string]int{}
	for _, c := range tree.Children {
		require.Equal(t, StateCompleted, c.State)
		queues[c.Queue]++
	}
	require.Equal(t, map[string]int{"bull:pages": 1, "far:away:pages": 1}, queues)
}

// Whatever the prefix is, nothing is stored elsewhere, and flows are read there.
func TestC081FlowBelowAPrefix(t *testing.T) {
	t.Parallel()
	k := flowKit(t).under("{app}:q")
	h := k.addReport(slotsOf(logoOf(), pageOf(1)))
	extra, err := pageTask.Add(k.ctx, k.client, page{2}, ChildOf(Parent{Queue: "reports", ID: h.ID}))
	require.NoError(t, err)
	tree, err := k.client.Queue("reports").Flow(k.ctx, h.ID, 3, 0)
	require.NoError(t, err)
	require.Len(t, tree.Children, 3)
	k.workPages()
	k.workReports()
	require.Equal(t, "acme: page 1 page 2, logo", value(k, h))
	require.Equal(t, "page 2", value(k, extra))
	for _, key := range k.server.Client(t).Keys(k.ctx, "*").Val() {
		require.True(t, strings.HasPrefix(key, "{app}:q:"), key)
	}
}

// Adding the same flow again with ids of one's own: the parent, which is gone,
// runs again, and its children, which are kept, do not.
func TestC033TheSameFlowAgain(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	var seen recorder
	k.start(pagesQueue, func(w *Worker) {
		pageTask.Handle(w, func(ctx context.Context, job *Job[page]) (string, error) {
			seen.note(job.ID)
			return renderPage(ctx, job)
		})
	})
	k.start(reportsQueue, func(w *Worker) {
		reportTask.Handle(w, func(ctx context.Context, job *Job[report]) (string, error) {
			rs, err := ChildResults[string](ctx, job, "pages")
			seen.note("report")
			return strings.Join(rs, "+"), err
		})
	})
	for range 2 {
		root := NewNode("reports", "build-report", report{"a"}, KeepCompleted(KeepNone()))
		root.Opts.JobID = "the-report"
		for n := range 2 {
			c := NewNode("pages", "render-page", page{n})
			c.Opts.JobID = fmt.Sprint("page-", n)
			root.Children = append(root.Children, c)
		}
		done := k.waitFor("reports", "the-report")
		_, err := k.client.AddFlows(k.ctx, root)
		require.NoError(t, err)
		require.Equal(t, `"page 0+page 1"`, done())
	}
	require.ElementsMatch(t, []string{"page-0", "page-1", "report", "report"}, seen.all())
}

// waitFor subscribes to the end of a job that is not added yet, and returns
// what waits for it.
func (k *kit) waitFor(queue, id string) func() string {
	k.Helper()
	cursor, err := k.store.LastEvent(k.ctx, queue)
	require.NoError(k, err)
	return func() string {
		for {
			events, err := k.store.ReadEvents(k.ctx, queue, cursor, time.Second)
			require.NoError(k, err)
			for _, e := range events {
				if e.Name == "completed" && e.Fields["jobId"] == id {
					return e.Fields["returnvalue"]
				}
				cursor = e.Cursor
			}
		}
	}
}

// A flow too big for the stack of a script, or for one page of anything.
func TestBigFlow(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Shared(t))
	pages := make([]pageNode, 10000)
	for i := range pages {
		pages[i] = pageOf(i)
	}
	h := k.addReport(slotsOf(logoOf(), pages...))
	counts, err := k.client.Queue("reports").DependencyCounts(k.ctx, h.ID)
	require.NoError(t, err)
	require.Equal(t, DependencyCounts{Pending: 10001}, counts)
	k.workPages(Concurrency(200))
	k.workReports()
	r := value(k, h)
	require.True(t, strings.HasPrefix(r, "acme: page 0 page 1 ") && strings.HasSuffix(r, " page 9998 page 9999, logo"), "%.100s", r)
}

// under is the kit with queues below another prefix.
func (k *kit) under(prefix string) *kit {
	k.Helper()
	store, err := redisq.Open(k.server.URL(), redisq.Logger(quiet()), redisq.Prefix(prefix))
	require.NoError(k, err)
	c, err := NewClient(store, WithLogger(quiet()))
	require.NoError(k, err)
	k.Cleanup(func() {
		_ = c.Close()
		_ = store.Close()
	})
	other := *k
	other.store, other.client = store, c
	return &other
}
