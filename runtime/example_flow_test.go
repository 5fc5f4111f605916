package bullmq_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/embedded"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
)

// The tasks of these examples. With the generator they are annotated structs,
// and what stands here is generated.
type (
	Page   struct{ Number int }
	Cover  struct{ Color string }
	Book   struct{ Title string }
	Letter struct{ To string }
)

var (
	parts = &bullmq.QueueSpec{Name: "parts"}
	books = &bullmq.QueueSpec{Name: "books"}

	PageTask  = bullmq.NewTask[Page, string](bullmq.Spec{Queue: parts, Name: "page"}, nil)
	CoverTask = bullmq.NewTask[Cover, string](bullmq.Spec{Queue: parts, Name: "cover"}, nil)

	BookTask = bullmq.NewTask[Book, string](bullmq.Spec{
		Queue: books, Name: "book",
		Slots: []bullmq.SlotSpec{
			{Name: "pages", Kind: bullmq.SlotMany, Queue: "parts", Job: "page"},
			{Name: "cover", Queue: "parts", Job: "cover", OnFail: bullmq.OnFailIgnore},
		},
	}, nil)
)

// workshop is a server inside the program, a client of it, and what ends both.
func workshop() (*bullmq.Client, func()) {
	server, err := embedded.Start()
	check(err)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	store, err := redisq.Open(server.URL(), redisq.Logger(quiet))
	check(err)
	client, err := bullmq.NewClient(store, bullmq.WithLogger(quiet))
	check(err)
	return client, func() {
		check(client.Close())
		check(store.Close())
		check(server.Close())
	}
}

// work starts a worker, and returns what stops it.
func work(client *bullmq.Client, queue *bullmq.QueueSpec, handle func(*bullmq.Worker)) func() {
	w, err := bullmq.NewWorker(client, queue, bullmq.Concurrency(2))
	check(err)
	handle(w)
	check(w.Start(context.Background()))
	return func() { check(w.Stop(context.Background())) }
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func workParts(client *bullmq.Client) func() {
	return work(client, parts, func(w *bullmq.Worker) {
		PageTask.Handle(w, func(_ context.Context, job *bullmq.Job[Page]) (string, error) {
			return fmt.Sprint("page ", job.Data.Number), nil
		})
		CoverTask.Handle(w, func(_ context.Context, job *bullmq.Job[Cover]) (string, error) {
			if job.Data.Color == "" {
				return "", errors.New("no color")
			}
			return job.Data.Color + " cover", nil
		})
	})
}

// A job that waits for others gets their results, by the slots that they are
// in. A child that may fail has an Outcome.
func Example_flow() {
	ctx := context.Background()
	client, end := workshop()
	defer end()
	defer workParts(client)()
	type parts struct {
		Pages []string
		Cover bullmq.Outcome[string]
	}
	defer work(client, books, func(w *bullmq.Worker) {
		bullmq.HandleFlow(BookTask, w, func(c *bullmq.ChildSet) (in parts, err error) {
			err = errors.Join(bullmq.ReadMany(c, "pages", &in.Pages), bullmq.ReadOne(c, "cover", &in.Cover))
			return in, err
		}, func(_ context.Context, job *bullmq.Job[Book], in parts) (string, error) {
			cover := in.Cover.Value
			if in.Cover.Err != nil {
				cover = "no cover"
			}
			return fmt.Sprintf("%s: %s, %s", job.Data.Title, strings.Join(in.Pages, ", "), cover), nil
		})
	})()

	for _, color := range []string{"blue", ""} {
		h, err := BookTask.AddFlow(ctx, client, Book{"Atlas"}, []bullmq.Slot{
			bullmq.ManyChildren("pages", []*bullmq.Node{PageTask.Node(Page{1}), PageTask.Node(Page{2}, bullmq.Priority(1))}),
			bullmq.OneChild("cover", CoverTask.Node(Cover{color})),
		})
		check(err)
		book, err := h.Result(ctx)
		check(err)
		fmt.Println(book)
	}
	// A child that cannot be left out is missed before anything is added.
	_, err := BookTask.AddFlow(ctx, client, Book{"Atlas"}, nil)
	fmt.Println(errors.Is(err, bullmq.ErrIncompleteFlow))
	// Output:
	// Atlas: page 1, page 2, blue cover
	// Atlas: page 1, page 2, no cover
	// true
}

// A handler that finds out what there is to do adds children and waits for
// them: it runs again when they are done, and goes on.
func ExampleActiveJob_AddChildren() {
	ctx := context.Background()
	client, end := workshop()
	defer end()
	defer workParts(client)()
	defer work(client, books, func(w *bullmq.Worker) {
		BookTask.Handle(w, func(ctx context.Context, job *bullmq.Job[Book]) (string, error) {
			pages := []*bullmq.Node{}
			for i := range len(job.Data.Title) {
				pages = append(pages, PageTask.Node(Page{i + 1}))
			}
			if err := job.AddChildren(ctx, "split", bullmq.ManyChildren("pages", pages)); err != nil {
				return "", err
			}
			results, err := bullmq.ChildResults[string](ctx, job, "pages")
			if err != nil {
				return "", err // the first time: not all are done, and the job waits
			}
			return strings.Join(results, ", "), nil
		})
	})()
	h, err := client.Queue("books").Add(ctx, "book", Book{"Map"})
	check(err)
	book, err := h.Result(ctx)
	check(err)
	fmt.Println(string(book))
	// Output: "page 1, page 2, page 3"
}

// A handler made of steps goes on where it was when its job runs again.
func ExampleStep() {
	ctx := context.Background()
	client, end := workshop()
	defer end()
	post := &bullmq.QueueSpec{Name: "post"}
	task := bullmq.NewTask[Letter, string](bullmq.Spec{Queue: post, Name: "letter", Attempts: 3}, nil)
	defer work(client, post, func(w *bullmq.Worker) {
		task.Handle(w, func(ctx context.Context, job *bullmq.Job[Letter]) (string, error) {
			stamp, err := bullmq.Step(ctx, job, "stamp", func(context.Context) (string, error) {
				fmt.Println("bought a stamp")
				return "stamp 7", nil
			})
			if err != nil {
				return "", err
			}
			if job.Attempt == 1 {
				return "", errors.New("the post office is closed")
			}
			return fmt.Sprintf("to %s with %s, attempt %d", job.Data.To, stamp, job.Attempt), nil
		})
	})()
	h, err := task.Add(ctx, client, Letter{"ann"})
	check(err)
	sent, err := h.Result(ctx)
	check(err)
	fmt.Println(sent)
	// Output:
	// bought a stamp
	// to ann with stamp 7, attempt 2
}

// Jobs that run one after the other, each with the result of the one before
// it: three pages side by side, then a book of them, then a letter about it.
func ExampleThen() {
	ctx := context.Background()
	client, end := workshop()
	defer end()
	shop := &bullmq.QueueSpec{Name: "shop"}
	bind := bullmq.NewJoinTask[string, Book, int](bullmq.Spec{Queue: shop, Name: "bind"}, nil)
	tell := bullmq.NewChainTask[int, Letter, string](bullmq.Spec{Queue: shop, Name: "tell"}, nil)
	defer workParts(client)()
	defer work(client, shop, func(w *bullmq.Worker) {
		bind.Handle(w, func(_ context.Context, _ *bullmq.Job[Book], pages []string) (int, error) { return len(pages), nil })
		tell.Handle(w, func(_ context.Context, job *bullmq.Job[Letter], pages int) (string, error) {
			return fmt.Sprintf("dear %s, your book has %d pages", job.Data.To, pages), nil
		})
	})()

	pages := bullmq.Each(PageTask, []Page{{1}, {2}, {3}})
	book := bullmq.ThenAll(pages, bind, Book{"Atlas"})
	h, err := bullmq.Then(book, tell, Letter{"ann"}).Add(ctx, client)
	check(err)
	letter, err := h.Result(ctx)
	check(err)
	fmt.Println(letter)
	// Output: dear ann, your book has 3 pages
}

// A flow of living jobs can be looked at.
func ExampleQueue_Flow() {
	ctx := context.Background()
	client, end := workshop()
	defer end()
	root := bullmq.NewNode("books", "book", Book{"Atlas"})
	root.Opts.JobID = "atlas"
	root.Children = []*bullmq.Node{
		bullmq.NewNode("parts", "page", Page{1}),
		bullmq.NewNode("parts", "cover", Cover{}, bullmq.Delay(time.Hour)),
	}
	for i, id := range []string{"p1", "c1"} {
		root.Children[i].Opts.JobID = id
	}
	_, err := client.AddFlows(ctx, root)
	check(err)
	tree, err := client.Queue("books").Flow(ctx, "atlas", 0, 0)
	check(err)
	fmt.Print(tree.Text())
	fmt.Print(tree.Mermaid())
	// Output:
	// book (books, atlas) waiting-children
	// ├─ cover (parts, c1) delayed
	// └─ page (parts, p1) waiting
	// flowchart TD
	//   n1["book<br/>books, atlas<br/>waiting-children"]:::waiting-children
	//   n2["cover<br/>parts, c1<br/>delayed"]:::delayed
	//   n1 --> n2
	//   n3["page<br/>parts, p1<br/>waiting"]:::waiting
	//   n1 --> n3
	//   classDef delayed fill:#eeeeee
	//   classDef waiting fill:#fff3c4
	//   classDef waiting-children fill:#eeeeee
}
