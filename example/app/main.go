// Command app is an example of typed tasks: it adds one job for each file below a
// folder, processes the jobs, and prints what it found.
//
//	go run ./example/app -dir /usr/share/doc
//
// Without -redis it starts an embedded server. With a Redis server it can be two
// programs: -role worker, which runs until it is interrupted, and -role producer.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/bullmq-gen/bullmq-gen/example/gen"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/embedded"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
)

type config struct {
	dir   string
	redis string
	role  string
	most  int
	flaky int
}

func main() {
	var c config
	flag.StringVar(&c.dir, "dir", ".", "folder whose files are read")
	flag.StringVar(&c.redis, "redis", "", "URL of a Redis server, as in redis://localhost:6379; empty: one inside this program")
	flag.StringVar(&c.role, "role", "both", "producer, worker or both")
	flag.IntVar(&c.most, "max", 5000, "most files to read")
	flag.IntVar(&c.flaky, "flaky", 25, "one in so many files fails at its first attempt, to show a retry; 0: none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, c, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "app:", err)
		stop()
		os.Exit(1)
	}
}

func (c *config) check() error {
	switch {
	case c.role != "both" && c.role != "producer" && c.role != "worker":
		return fmt.Errorf("-role is %q: use producer, worker or both", c.role)
	case c.role != "both" && c.redis == "":
		return errors.New("two programs need a server that both reach: give -redis")
	case c.most < 1 || c.flaky < 0:
		return errors.New("-max must be at least 1, and -flaky not negative")
	}
	info, err := os.Stat(c.dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("-dir: %s is not a folder", c.dir)
	}
	return err
}

func run(ctx context.Context, c config, out io.Writer) error {
	if err := c.check(); err != nil {
		return err
	}
	// Attempts that fail are part of the show: only errors are logged.
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	if c.redis == "" {
		server, err := embedded.Start()
		if err != nil {
			return err
		}
		defer server.Close()
		c.redis = server.URL()
	}
	store, err := redisq.Open(c.redis, redisq.Logger(log))
	if err != nil {
		return err
	}
	defer store.Close()
	client, err := bullmq.NewClient(store, bullmq.WithLogger(log))
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Ping(ctx); err != nil {
		return err
	}
	switch c.role {
	case "producer":
		return produce(ctx, client, c, out)
	case "worker":
		fmt.Fprintln(out, "processing jobs until interrupted")
		return work(ctx, client, c, out)
	}
	return both(ctx, client, c, out)
}

// both adds jobs and processes them in one program.
func both(ctx context.Context, client *bullmq.Client, c config, out io.Writer) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	worked := make(chan error, 1)
	go func() { worked <- work(working, client, c, out) }()
	err := produce(ctx, client, c, out)
	stop()
	return errors.Join(err, <-worked)
}

// work processes the jobs of all queues, with one pool of workers.
func work(ctx context.Context, client *bullmq.Client, c config, out io.Writer) error {
	files, err := gen.NewFilesWorker(client, &scanner{client: client, root: c.dir, flaky: c.flaky})
	if err != nil {
		return err
	}
	notices, err := gen.NewNoticesWorker(client, speaker{out}, bullmq.Concurrency(1))
	if err != nil {
		return err
	}
	copies, err := gen.NewCopiesWorker(client, librarian{}, bullmq.Concurrency(1))
	if err != nil {
		return err
	}
	if err := schedule(ctx, client, out); err != nil {
		return err
	}
	pool, err := bullmq.NewWorkerPool(10)
	if err != nil {
		return err
	}
	if err := errors.Join(pool.Add(files, 4), pool.Add(notices, 1), pool.Add(copies, 1)); err != nil {
		return err
	}
	return pool.Run(ctx)
}
