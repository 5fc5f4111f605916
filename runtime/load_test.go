package bullmq

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
)

// load adds jobs and works them, whatever happens to the server meanwhile.
type load struct {
	*kit
	added, lost atomic.Int32
	mu          sync.Mutex
	runs        map[string]int
	worker      *Worker
}

func newLoad(k *kit, opts ...WorkerOption) *load {
	l := &load{kit: k, runs: map[string]int{}}
	note := func(string) { l.lost.Add(1) }
	l.worker = k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.runs[job.ID]++
		return hello(ctx, job)
	}, append(opts, Concurrency(5), LockDuration(5*time.Second), StalledCheck(200*time.Millisecond, 9), Metrics(10), WithHooks(Hooks{
		LockLost: func(j *ActiveJob) { note(j.ID) }, Stalled: note,
	}))...)
	return l
}

// more adds jobs; a call that fails is made again, for the same job.
func (l *load) more() {
	l.Helper()
	for range 40 {
		id := fmt.Sprint("job-", l.added.Add(1))
		opts := []AddOption{JobID(id), Attempts(3)}
		switch {
		case strings.HasSuffix(id, "3"):
			opts = append(opts, Delay(time.Millisecond))
		case strings.HasSuffix(id, "5"):
			opts = append(opts, Priority(2))
		}
		l.until("a job is added", func() bool {
			_, err := l.task.Add(l.ctx, l.client, greet{Name: id}, opts...)
			return err == nil
		})
	}
}

// during makes a change while jobs are added and worked. All must be done
// afterwards, each once, or again only because its worker lost it.
func (l *load) during(change func()) {
	l.Helper()
	l.more()
	var adding sync.WaitGroup
	adding.Go(func() {
		l.more()
		l.more()
	})
	change()
	adding.Wait()
	l.more()
	l.until("all jobs are done", func() bool {
		counts, err := l.client.Queue(l.queue.Name).Counts(l.ctx)
		return err == nil && counts[StateCompleted] == int(l.added.Load())
	})
	require.NoError(l, l.worker.Stop(l.ctx)) // so that nothing changes any more
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Len(l, l.runs, int(l.added.Load()))
	again := 0
	for _, n := range l.runs {
		again += n - 1
	}
	require.LessOrEqual(l, again, int(l.lost.Load()), "jobs that ran twice were lost by their worker")
}
