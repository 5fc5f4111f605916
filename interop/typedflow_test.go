package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
)

// typedFlow is a book with pages and a cover, declared in Go, some of whose
// jobs are added or worked by Node.
type typedFlow struct {
	*kit
	node          *Peer
	client        *bullmq.Client
	bookQ, partsQ *bullmq.QueueSpec
	book          *bullmq.Task[string, string]
	page, cover   *bullmq.Task[int, string]
}

// eachTypedFlow runs a test with both releases of Node's library.
func eachTypedFlow(t *testing.T, test func(f *typedFlow)) {
	t.Helper()
	NeedNode(t)
	for _, lib := range []Library{Node6, Node5} {
		t.Run(lib.Version, func(t *testing.T) {
			t.Parallel()
			s := testredis.Shared(t)
			opts := []redisq.Option{redisq.Logger(slog.New(slog.DiscardHandler))}
			if lib == Node5 {
				opts = append(opts, redisq.Peers5())
			}
			rdb := redis.NewClient(s.Options())
			store, err := redisq.New(rdb, opts...)
			require.NoError(t, err)
			client, err := bullmq.NewClient(store, bullmq.WithLogger(slog.New(slog.DiscardHandler)))
			require.NoError(t, err)
			t.Cleanup(func() {
				_ = client.Close()
				_ = store.Close()
				_ = rdb.Close()
			})
			f := &typedFlow{kit: newKit(t, s.Client(t)), node: StartNode(t, lib, s.URL()), client: client}
			f.declare()
			test(f)
		})
	}
}

func (f *typedFlow) declare() {
	f.bookQ, f.partsQ = &bullmq.QueueSpec{Name: name("books")}, &bullmq.QueueSpec{Name: name("parts")}
	f.page = bullmq.NewTask[int, string](bullmq.Spec{Queue: f.partsQ, Name: "page", Aliases: []string{"sheet"}}, nil)
	f.cover = bullmq.NewTask[int, string](bullmq.Spec{Queue: f.partsQ, Name: "cover"}, nil)
	f.book = bullmq.NewTask[string, string](bullmq.Spec{Queue: f.bookQ, Name: "book", Slots: []bullmq.SlotSpec{
		{Name: "pages", Kind: bullmq.SlotMany, Queue: f.partsQ.Name, Job: "page", Aliases: []string{"sheet"}},
		{Name: "cover", Queue: f.partsQ.Name, Job: "cover", OnFail: bullmq.OnFailIgnore},
	}}, nil)
}

func (f *typedFlow) books() *on { return f.on(f.node, f.bookQ.Name) }
func (f *typedFlow) parts() *on { return f.on(f.node, f.partsQ.Name) }

func (f *typedFlow) start(q *bullmq.QueueSpec, handle func(*bullmq.Worker)) {
	f.Helper()
	w, err := bullmq.NewWorker(f.client, q, bullmq.Concurrency(4))
	require.NoError(f, err)
	handle(w)
	require.NoError(f, w.Start(context.Background()))
	f.Cleanup(func() { _ = w.Stop(context.Background()) })
}

// bind works books in Go: their pages, and what became of the cover.
func (f *typedFlow) bind() {
	type parts struct {
		Pages []string
		Cover bullmq.Outcome[string]
	}
	f.start(f.bookQ, func(w *bullmq.Worker) {
		bullmq.HandleFlow(f.book, w, func(c *bullmq.ChildSet) (in parts, err error) {
			err = errors.Join(bullmq.ReadMany(c, "pages", &in.Pages), bullmq.ReadOne(c, "cover", &in.Cover))
			return in, err
		}, func(_ context.Context, job *bullmq.Job[string], in parts) (string, error) {
			cover, err := in.Cover.Get()
			if err != nil {
				var failed *bullmq.ChildError
				if !errors.As(err, &failed) {
					return "", err
				}
				cover = "no cover: " + failed.Reason
			}
			return fmt.Sprintf("%s of %s, %s", job.Data, strings.Join(in.Pages, " "), cover), nil
		})
	})
}

func (f *typedFlow) slots(pages int) []bullmq.Slot {
	nodes := make([]*bullmq.Node, pages)
	for i := range nodes {
		nodes[i] = f.page.Node(i)
	}
	return []bullmq.Slot{bullmq.ManyChildren("pages", nodes), bullmq.OneChild("cover", f.cover.Node(0))}
}

func (f *typedFlow) value(h *bullmq.JobHandle[string]) string {
	f.Helper()
	v, err := h.Result(f.ctx)
	require.NoError(f, err)
	return v
}

// Children of a typed flow that Node works are found in their slots: in order,
// and with the reason where one failed.
func TestTypedFlowWorkedByNode(t *testing.T) {
	t.Parallel()
	eachTypedFlow(t, func(f *typedFlow) {
		f.bind()
		f.parts().work(script{"page": once(does("echo")), "cover": {{throws("no ink")}}}, Args{"concurrency": 3})
		h, err := f.book.AddFlow(f.ctx, f.client, "book", f.slots(12))
		require.NoError(f, err)
		// The pages are numbers, where texts are declared: not a result of the task.
		_, err = h.Result(f.ctx)
		require.ErrorContains(f, err, "a JSON number does not fit string")

		f.parts().work(script{"page": once(returns("p")), "cover": once(returns("red"))}, nil)
		h, err = f.book.AddFlow(f.ctx, f.client, "book", f.slots(0))
		require.NoError(f, err)
		require.Contains(f, []string{"book of , red", "book of , no cover: no ink"}, f.value(h))
	})
}

// Children that a Node program added find their slots by the names of their
// jobs, or by ids of the form that says so.
func TestNodeFlowWithTypedParent(t *testing.T) {
	t.Parallel()
	eachTypedFlow(t, func(f *typedFlow) {
		f.bind()
		child := func(name string, opts Args) Args {
			return Args{"name": name, "queueName": f.partsQ.Name, "data": name, "opts": opts}
		}
		add := func(children ...Args) string {
			tree := ask[Flow](f.books(), "flow.add", Args{"flow": Args{"name": "book", "queueName": f.bookQ.Name, "data": "book", "children": children}})
			return tree.Job.ID
		}
		id := add(child("page", Args{"jobId": "x1"}), child("sheet", Args{"jobId": "x2"}), child("cover", Args{"ignoreDependencyOnFailure": true}))
		placed := func(n int) Args { return Args{"jobId": fmt.Sprintf("pages.%d.%s", n, uuid.NewString())} }
		again := add(child("page", placed(10)), child("page", placed(9)), child("cover", Args{}), child("sheet", Args{"jobId": "x3"}))
		removed := placed(0)
		removed["removeOnComplete"] = true
		third := add(child("page", removed), child("cover", Args{}))
		f.parts().work(script{"page": once(does("echo")), "sheet": once(does("echo")), "cover": {{throws("no ink")}, {returns("red")}}}, nil)
		same(f.T, "book of page sheet, no cover: no ink", f.books().result(id))
		for _, o := range []string{again, third} {
			tree, err := f.client.Queue(f.bookQ.Name).Flow(f.ctx, o, 2, 0)
			require.NoError(f, err)
			for _, c := range tree.Children {
				if c.Name == "cover" {
					f.until("the cover fails", func() bool { return f.parts().state(c.ID) == "failed" })
					f.parts().do("job.retry", Args{"id": c.ID})
				}
			}
		}
		same(f.T, "book of page page sheet, red", f.books().result(again))
		same(f.T, "book of page, red", f.books().result(third))
	})
}

// Levels of one flow are worked by turns, and Node reads what Go's children
// returned.
func TestLevelsWorkedByTurns(t *testing.T) {
	t.Parallel()
	eachTypedFlow(t, func(f *typedFlow) {
		f.bind()
		f.start(f.partsQ, func(w *bullmq.Worker) {
			page := func(_ context.Context, job *bullmq.Job[int]) (string, error) { return fmt.Sprint("p", job.Data), nil }
			f.page.Handle(w, page)
			f.cover.Handle(w, page)
		})
		shelves := f.on(f.node, name("shelves"))
		var books []*bullmq.Node
		for i := range 3 {
			books = append(books, f.book.NodeWith(fmt.Sprint("book ", i), f.slots(2)))
		}
		root := bullmq.NewNode(shelves.queue, "shelf", nil)
		root.Children = books
		handles, err := f.client.AddFlows(f.ctx, root)
		require.NoError(f, err)
		shelves.work(script{"shelf": once(does("childrenValues"))}, nil)
		tree, err := f.client.Queue(shelves.queue).Flow(f.ctx, handles[0].ID, 0, 0)
		require.NoError(f, err)
		want := Args{}
		for _, c := range tree.Children {
			var title string
			require.NoError(f, json.Unmarshal(c.Record.Data, &title))
			want[c.Queue+":"+c.ID] = title + " of p0 p1, p0"
		}
		require.Len(f, want, 3)
		same(f.T, want, shelves.result(handles[0].ID))
		read := ask[Flow](shelves, "flow.getFlow", Args{"id": handles[0].ID})
		require.Len(f, read.Children, 3)
		for _, b := range read.Children {
			require.Len(f, b.Children, 3)
		}
	})
}

// A job keeps its steps when Node has it in between: Node knows nothing of
// them, and leaves them alone.
func TestStepsOfAJobThatNodeHasInBetween(t *testing.T) {
	t.Parallel()
	eachTypedFlow(t, func(f *typedFlow) {
		task := bullmq.NewTask[string, string](bullmq.Spec{Queue: f.bookQ, Name: "order"}, nil)
		m, err := bullmq.NewManual(f.client, f.bookQ.Name)
		require.NoError(f, err)
		f.Cleanup(func() { _ = m.Close() })
		h, err := task.Add(f.ctx, f.client, "ann", bullmq.Attempts(3), bullmq.WithBackoff(bullmq.Fixed(time.Hour)))
		require.NoError(f, err)
		job, err := m.Take(f.ctx)
		require.NoError(f, err)
		charge := func(context.Context) (int, error) { return 42, nil }
		_, err = bullmq.Step(f.ctx, job, "charge", charge)
		require.NoError(f, err)
		require.NoError(f, m.Finish(f.ctx, job, nil, errors.New("the mail is down")))

		q := f.client.Queue(f.bookQ.Name)
		require.NoError(f, q.Promote(f.ctx, h.ID))
		w := f.books().work(script{"order": once(progresses(50), throws("not in Node"))}, nil)
		w.said("failed", h.ID)
		w.close()
		require.Equal(f, 2, f.books().job(h.ID).AttemptsMade)
		require.NoError(f, q.Promote(f.ctx, h.ID))

		var charged atomic.Int32
		f.start(f.bookQ, func(w *bullmq.Worker) {
			task.Handle(w, func(ctx context.Context, job *bullmq.Job[string]) (string, error) {
				n, err := bullmq.Step(ctx, job, "charge", func(context.Context) (int, error) { charged.Add(1); return 0, nil })
				return fmt.Sprint(job.Data, " paid ", n), err
			})
		})
		require.Equal(f, "ann paid 42", f.value(h))
		require.Zero(f, charged.Load())
		f.books().do("job.retry", Args{"id": h.ID, "state": "completed"})
		f.until("it begins anew", func() bool { return charged.Load() == 1 })
	})
}

// A parent that Node works waits for children that Go adds to it, and the
// other way round.
func TestChildrenAddedToARunningParentOfTheOtherSide(t *testing.T) {
	t.Parallel()
	eachTypedFlow(t, func(f *typedFlow) {
		f.parts().work(script{"page": once(returns("from Node")), "cover": once(returns("red"))}, nil)
		f.books().work(script{"book": once(holds("added"), does("waitChildren"), does("childrenValues"))}, nil)
		id := f.books().add("book", "b", nil)
		f.books().held("added")
		child, err := f.page.Add(f.ctx, f.client, 1, bullmq.ChildOf(bullmq.Parent{Queue: f.bookQ.Name, ID: id}))
		require.NoError(f, err)
		f.books().release("added")
		same(f.T, Args{"bull:" + f.partsQ.Name + ":" + child.ID: "from Node"}, f.books().result(id))

		shelfQ := &bullmq.QueueSpec{Name: name("shelves")}
		shelf := bullmq.NewTask[int, []string](bullmq.Spec{Queue: shelfQ, Name: "shelf"}, nil)
		f.start(shelfQ, func(w *bullmq.Worker) {
			shelf.Handle(w, func(ctx context.Context, job *bullmq.Job[int]) ([]string, error) {
				var nodes []*bullmq.Node
				for i := range job.Data {
					nodes = append(nodes, f.page.Node(i))
				}
				if err := job.AddChildren(ctx, "pages", bullmq.ManyChildren("pages", nodes)); err != nil {
					return nil, err
				}
				return bullmq.ChildResults[string](ctx, job, "pages")
			})
		})
		h, err := shelf.Add(f.ctx, f.client, 3)
		require.NoError(f, err)
		pages, err := h.Result(f.ctx)
		require.NoError(f, err)
		require.Equal(f, []string{"from Node", "from Node", "from Node"}, pages)
	})
}
