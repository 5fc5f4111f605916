package bullmq

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testneed"
	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// patience is how long a test waits for what must happen.
const patience = testneed.Patience

type greet struct {
	Name string `json:"name"`
	Fail int    `json:"fail,omitempty"` // how many attempts fail
}

type greeting struct {
	Text    string `json:"text"`
	Attempt int    `json:"attempt"`
}

// kit is a client on an empty database, and a queue of its own.
type kit struct {
	*testing.T
	ctx    context.Context
	server *testredis.Server
	store  *redisq.Store
	client *Client
	queue  *QueueSpec
	task   *Task[greet, greeting]
}

func newKit(t *testing.T, s *testredis.Server, opts ...ClientOption) *kit {
	t.Helper()
	return newKitAt(t, s, s.URL(), opts...)
}

func newKitAt(t *testing.T, s *testredis.Server, url string, opts ...ClientOption) *kit {
	t.Helper()
	store, err := redisq.Open(url, redisq.Logger(quiet()))
	require.NoError(t, err)
	c, err := NewClient(store, append([]ClientOption{WithLogger(quiet())}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = c.Close()
		_ = store.Close()
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	q := &QueueSpec{Name: "greetings"}
	task := NewTask[greet, greeting](Spec{Queue: q, Name: "greet"}, nil)
	return &kit{T: t, ctx: ctx, server: s, store: store, client: c, queue: q, task: task}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// worker starts a worker of the kit's queue, stopped at the end of the test.
func (k *kit) worker(h func(context.Context, *Job[greet]) (greeting, error), opts ...WorkerOption) *Worker {
	k.Helper()
	w, err := NewWorker(k.client, k.queue, append([]WorkerOption{drainDelay(500 * time.Millisecond), GracePeriod(5 * time.Second)}, opts...)...)
	require.NoError(k, err)
	k.task.Handle(w, h)
	require.NoError(k, w.Start(context.Background()))
	k.Cleanup(func() { _ = w.Stop(context.Background()) })
	return w
}

// manual takes and finishes jobs of the kit's queue by hand.
func (k *kit) manual() *Manual {
	k.Helper()
	m, err := NewManual(k.client, k.queue.Name)
	require.NoError(k, err)
	k.Cleanup(func() { _ = m.Close() })
	return m
}

func hello(_ context.Context, job *Job[greet]) (greeting, error) {
	return greeting{"hello " + job.Data.Name, job.Attempt}, nil
}

func (k *kit) add(name string, opts ...AddOption) *JobHandle[greeting] {
	k.Helper()
	h, err := k.task.Add(k.ctx, k.client, greet{Name: name}, opts...)
	require.NoError(k, err)
	return h
}

func (k *kit) result(h *JobHandle[greeting]) greeting {
	k.Helper()
	r, err := h.Result(k.ctx)
	require.NoError(k, err)
	return r
}

func (k *kit) record(id string) *Record {
	k.Helper()
	r, err := k.client.Queue(k.queue.Name).Job(k.ctx, id)
	require.NoError(k, err)
	return r
}

// counts are the numbers of jobs by state, without the states that have none.
func (k *kit) counts() map[State]int {
	k.Helper()
	counts, err := k.client.Queue(k.queue.Name).Counts(k.ctx)
	require.NoError(k, err)
	for s, n := range counts {
		if n == 0 {
			delete(counts, s)
		}
	}
	return counts
}

// until waits for a condition.
func (k *kit) until(what string, ok func() bool) {
	k.Helper()
	require.Eventually(k, ok, patience, 2*time.Millisecond, what)
}

// settled waits until the counts are as given.
func (k *kit) settled(want map[State]int) {
	k.Helper()
	require.EventuallyWithT(k, func(c *assert.CollectT) { assert.Equal(c, want, k.counts()) }, patience, 5*time.Millisecond)
}

// from takes what comes from a channel, and fails the test when nothing comes.
func from[T any](k *kit, c <-chan T) T {
	k.Helper()
	var v T
	select {
	case v = <-c:
	case <-k.ctx.Done():
		require.Fail(k, "nothing came")
	}
	return v
}

// noLocks makes sure that no job is locked any more.
func (k *kit) noLocks() {
	k.Helper()
	locks, err := k.server.Client(k).Keys(k.ctx, "*:lock").Result()
	require.NoError(k, err)
	require.Empty(k, locks)
}

// recorder notes what handlers saw, in order.
type recorder struct {
	mu   sync.Mutex
	seen []string
}

func (r *recorder) note(s string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, s)
	return len(r.seen)
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.seen...)
}

var _ storage.Storage = (*redisq.Store)(nil)
