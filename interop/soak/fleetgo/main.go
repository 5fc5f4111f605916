// Command fleetgo is a Go member of the fleet: a producer or a worker, as a
// process of its own that may be killed or frozen at any moment. Everything it
// does is written to its journal, outside the queues.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
)

// Work is the payload of every job of the fleet.
type Work struct {
	Key    string `json:"key"`
	Fails  int    `json:"fails"` // the attempts that fail
	Value  int    `json:"value"`
	Millis int    `json:"millis"` // how long the handler takes
	Group  string `json:"group,omitempty"`
}

// Doubled is the result: twice the value, and for parents the sum of their
// children's results too.
type Doubled struct {
	Value int `json:"value"`
}

var (
	jobs    = &bullmq.QueueSpec{Name: "soak-jobs", Tasks: []string{"job"}}
	parents = &bullmq.QueueSpec{Name: "soak-parents", Tasks: []string{"parent"}}
	ticks   = &bullmq.QueueSpec{Name: "soak-ticks", Tasks: []string{"tick"}}
	// The test checks these limits. Node workers have the first one too.
	limited = &bullmq.QueueSpec{Name: "soak-limited", Tasks: []string{"limited"}, Limit: bullmq.RateLimit{Max: 10, Per: time.Second}}
	grouped = &bullmq.QueueSpec{Name: "soak-grouped", Tasks: []string{"grouped"}}

	jobTask     = bullmq.NewTask[Work, Doubled](bullmq.Spec{Queue: jobs, Name: "job"}, nil)
	tickTask    = bullmq.NewTask[Work, Doubled](bullmq.Spec{Queue: ticks, Name: "tick"}, nil)
	limitedTask = bullmq.NewTask[Work, Doubled](bullmq.Spec{Queue: limited, Name: "limited"}, nil)
	groupedTask = bullmq.NewTask[Work, Doubled](bullmq.Spec{Queue: grouped, Name: "grouped"}, nil)
	parentTask  = bullmq.NewTask[Work, Doubled](bullmq.Spec{Queue: parents, Name: "parent", Slots: []bullmq.SlotSpec{
		{Name: "parts", Kind: bullmq.SlotMany, Queue: "soak-jobs", Job: "job", OnFail: bullmq.OnFailFail},
	}}, nil)
)

type member struct {
	role, name, url string
	count           int
	seed            uint64
	skew, lock      time.Duration
	journal         *journal
	client          *bullmq.Client
}

func main() {
	var m member
	var path string
	flag.StringVar(&m.role, "role", "work", "work or produce")
	flag.StringVar(&m.name, "name", "go", "name in the journal, and beginning of the keys")
	flag.StringVar(&m.url, "redis", "", "URL of the server")
	flag.StringVar(&path, "journal", "", "file to append to")
	flag.IntVar(&m.count, "count", 0, "how many jobs to add")
	flag.Uint64Var(&m.seed, "seed", 1, "for the kinds of jobs")
	flag.DurationVar(&m.skew, "skew", 0, "how far this process's clock is off")
	flag.DurationVar(&m.lock, "lock", 3*time.Second, "lock duration of workers")
	flag.Parse()
	if err := m.run(path); err != nil {
		fmt.Fprintln(os.Stderr, m.name+":", err)
		os.Exit(1)
	}
}

func (m *member) run(path string) error {
	go func() { // the test has ended, in whatever way
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	j, err := openJournal(path, m.name)
	if err != nil {
		return err
	}
	m.journal = j
	if err := os.WriteFile(path+".up", nil, 0o600); err != nil { // signals are heard from now on
		return err
	}
	before := runtime.NumGoroutine()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	store, err := redisq.Open(m.url, redisq.Logger(log))
	if err != nil {
		return err
	}
	now := func() time.Time { return time.Now().Add(m.skew) }
	if m.client, err = bullmq.NewClient(store, bullmq.WithLogger(log), bullmq.WithClock(now)); err != nil {
		return err
	}
	if m.role == "produce" {
		err = m.produce(ctx)
	} else {
		err = m.work(ctx)
	}
	err = errors.Join(err, m.client.Close(), store.Close())
	m.journal.write(event{Event: "bye", N: settledGoroutines(before) - before})
	return err
}

// settledGoroutines returns the number of goroutines once it has come down to
// what it was, or does not change any more.
func settledGoroutines(want int) int {
	n := runtime.NumGoroutine()
	for i := 0; i < 200 && n > want; i++ {
		time.Sleep(10 * time.Millisecond)
		n = runtime.NumGoroutine()
	}
	return n
}

func (m *member) work(ctx context.Context) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs error
	start := func(q *bullmq.QueueSpec, n int, register func(*bullmq.Worker), opts ...bullmq.WorkerOption) {
		w, err := bullmq.NewWorker(m.client, q, append(opts, bullmq.Concurrency(n), bullmq.LockDuration(m.lock),
			bullmq.StalledCheck(m.lock, 10_000), bullmq.GracePeriod(2*time.Second))...)
		if err == nil {
			register(w)
			wg.Go(func() {
				err := w.Run(ctx)
				mu.Lock()
				errs = errors.Join(errs, err)
				mu.Unlock()
			})
			return
		}
		errs = errors.Join(errs, err)
	}
	start(jobs, 20, func(w *bullmq.Worker) { jobTask.Handle(w, m.handle) })
	start(ticks, 1, func(w *bullmq.Worker) { tickTask.Handle(w, m.handle) })
	start(limited, 5, func(w *bullmq.Worker) { limitedTask.Handle(w, m.handle) })
	if m.skew >= 0 { // the limit of a group holds for workers whose clocks agree
		start(grouped, 5, func(w *bullmq.Worker) { groupedTask.Handle(w, m.handle) }, bullmq.GroupLimit(5, time.Second, groupOf))
	}
	start(parents, 5, func(w *bullmq.Worker) {
		bullmq.HandleFlow(parentTask, w, func(c *bullmq.ChildSet) (parts []Doubled, err error) {
			err = bullmq.ReadMany(c, "parts", &parts)
			return parts, err
		}, func(ctx context.Context, job *bullmq.Job[Work], parts []Doubled) (Doubled, error) {
			out, err := m.handle(ctx, job)
			for _, p := range parts {
				out.Value += p.Value
			}
			return out, err
		})
	})
	wg.Wait()
	return errs
}

// groupOf returns the group of a job, which the payload has.
func groupOf(job *bullmq.ActiveJob) string {
	var w Work
	if json.Unmarshal(job.Record().Data, &w) != nil {
		return ""
	}
	return w.Group
}

// handle runs one job, and keeps account of it.
func (m *member) handle(ctx context.Context, job *bullmq.Job[Work]) (Doubled, error) {
	m.journal.write(event{Event: "run", Key: job.Data.Key, ID: job.ID, N: job.Attempt})
	timer := time.NewTimer(time.Duration(job.Data.Millis) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		m.journal.write(event{Event: "cut", Key: job.Data.Key, ID: job.ID, N: job.Attempt, Text: fmt.Sprint(context.Cause(ctx))})
		return Doubled{}, context.Cause(ctx)
	case <-timer.C:
	}
	if job.Attempt <= job.Data.Fails {
		m.journal.write(event{Event: "fail", Key: job.Data.Key, ID: job.ID, N: job.Attempt})
		return Doubled{}, errors.New("fails on purpose")
	}
	m.journal.write(event{Event: "done", Key: job.Data.Key, ID: job.ID, N: job.Attempt})
	return Doubled{Value: 2 * job.Data.Value}, nil
}

// produce adds jobs of all kinds. It adds again, with the same id, what is
// uncertain and has an id; what is certainly refused is not added again.
func (m *member) produce(ctx context.Context) error {
	random := rand.New(rand.NewPCG(m.seed, 1)) //nolint:gosec // only to choose kinds
	for n := 0; n < m.count && ctx.Err() == nil; {
		key := fmt.Sprintf("%s-%d", m.name, n)
		switch random.IntN(8) {
		case 0:
			n += m.addFlow(ctx, random, key)
		case 1:
			n += m.addMany(ctx, random, key)
		default:
			n += m.addOne(ctx, random, key)
		}
	}
	m.journal.write(event{Event: "end"})
	return nil
}

func (m *member) payload(random *rand.Rand, key string) Work {
	w := Work{Key: key, Value: random.IntN(1000), Millis: random.IntN(4)}
	switch random.IntN(20) {
	case 0:
		w.Fails = 1 + random.IntN(2)
	case 1:
		w.Fails = 99
	case 2:
		w.Millis = 200
	}
	return w
}

func options(random *rand.Rand) []bullmq.Option {
	opts := []bullmq.Option{bullmq.Attempts(3), bullmq.WithBackoff(bullmq.Fixed(20 * time.Millisecond))}
	switch random.IntN(6) {
	case 0:
		opts = append(opts, bullmq.Delay(time.Duration(random.IntN(2000))*time.Millisecond))
	case 1:
		opts = append(opts, bullmq.Priority(1+random.IntN(10)))
	case 2:
		opts = append(opts, bullmq.LIFO(true))
	}
	return opts
}

func (m *member) addOne(ctx context.Context, random *rand.Rand, key string) int {
	w, named := m.payload(random, key), random.IntN(2) == 0
	var opts []bullmq.AddOption
	for _, o := range options(random) {
		opts = append(opts, o)
	}
	if named {
		opts = append(opts, bullmq.JobID(key))
	}
	for try := 0; ; try++ {
		m.trying(w)
		_, err := jobTask.Add(ctx, m.client, w, opts...)
		m.answered(err, w)
		if err == nil || try == 100 || ctx.Err() != nil || errors.Is(err, bullmq.ErrUncertain) && !named {
			return 1
		}
		pause(ctx)
	}
}

func (m *member) addMany(ctx context.Context, random *rand.Rand, key string) int {
	ws := make([]Work, 1+random.IntN(60))
	for i := range ws {
		ws[i] = m.payload(random, fmt.Sprintf("%s-%d", key, i))
		m.trying(ws[i])
	}
	_, err := jobTask.AddMany(ctx, m.client, ws, bullmq.Attempts(3), bullmq.WithBackoff(bullmq.Fixed(20*time.Millisecond)))
	var bulk *bullmq.BulkError
	for i, w := range ws {
		switch {
		case errors.As(err, &bulk):
			m.answered(bulk.Errs[i], w)
		default:
			m.answered(err, w)
		}
	}
	if err != nil {
		pause(ctx)
	}
	return len(ws)
}

func (m *member) addFlow(ctx context.Context, random *rand.Rand, key string) int {
	root := Work{Key: key, Value: random.IntN(1000)}
	all := []Work{root}
	var nodes []*bullmq.Node
	for i := range 1 + random.IntN(4) {
		w := Work{Key: fmt.Sprintf("%s-%d", key, i), Value: random.IntN(1000), Fails: random.IntN(8) / 7}
		all = append(all, w)
		nodes = append(nodes, jobTask.Node(w, bullmq.Attempts(3)))
	}
	m.trying(all...)
	_, err := parentTask.AddFlow(ctx, m.client, root, []bullmq.Slot{bullmq.ManyChildren("parts", nodes)}, bullmq.Attempts(3))
	m.answered(err, all...)
	if err != nil {
		pause(ctx)
	}
	return len(all)
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(50 * time.Millisecond):
	}
}

func (m *member) trying(ws ...Work) {
	for _, w := range ws {
		m.journal.write(event{Event: "try", Key: w.Key, Fails: w.Fails, N: w.Value})
	}
}

func (m *member) answered(err error, ws ...Work) {
	for _, w := range ws {
		switch {
		case err == nil:
			m.journal.write(event{Event: "ok", Key: w.Key})
		case errors.Is(err, bullmq.ErrUncertain):
			m.journal.write(event{Event: "unsure", Key: w.Key, Text: err.Error()})
		default:
			m.journal.write(event{Event: "refused", Key: w.Key, Text: err.Error()})
		}
	}
}

// event is a line of the journal.
type event struct {
	Time  int64  `json:"t"`
	Who   string `json:"p"`
	Event string `json:"e"`
	Key   string `json:"k,omitempty"`
	ID    string `json:"i,omitempty"`
	N     int    `json:"n,omitempty"`
	Fails int    `json:"f,omitempty"`
	Text  string `json:"x,omitempty"`
}

// journal appends each event with one write, so that a kill cuts none in two
// and loses none that was written.
type journal struct {
	who  string
	mu   sync.Mutex
	file *os.File
}

func openJournal(path, who string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &journal{who: who, file: f}, err
}

func (j *journal) write(e event) {
	e.Time, e.Who = time.Now().UnixMilli(), j.who
	line, err := json.Marshal(e)
	if err == nil {
		j.mu.Lock()
		_, err = j.file.Write(append(line, '\n'))
		j.mu.Unlock()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "journal:", err)
		os.Exit(2)
	}
}
