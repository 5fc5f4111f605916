package redisq

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

const (
	// addLanes is how many calls add jobs to a queue at once before further
	// adds are gathered: while the client reads one answer, the server works on
	// the next call.
	addLanes = 2
	// addPatience is how long an add waits at most behind calls that are not
	// answered: one dead connection must not hold up all.
	addPatience = 100 * time.Millisecond
	// joinJobs is how many jobs an add has at most to be gathered with others.
	joinJobs = 50
)

// gather brings adds that many goroutines make to one queue into common calls.
// An add that finds the queue free goes at once; one that finds calls under way
// goes with all that gathered meanwhile. Nothing ever waits for company.
type gather struct {
	s     *Store
	queue string

	patience time.Duration

	mu       sync.Mutex
	running  int       // calls under way
	progress time.Time // when a call was begun or answered last
	waiting  []*joined
}

// joined is an add that waits for a call.
type joined struct {
	jobs  []intake
	added []storage.Added
	err   error
	done  chan struct{} // closed when added or err is set
}

func (s *Store) gatherOf(queue string) *gather {
	if g, ok := s.gathers.Load(queue); ok {
		return g.(*gather)
	}
	g, _ := s.gathers.LoadOrStore(queue, &gather{s: s, queue: queue, patience: addPatience})
	return g.(*gather)
}

// joins tells whether jobs may share a call with those of others. Children do
// not: a parent that is gone makes the numbers of the others uncertain.
func joins(jobs []intake) bool {
	if len(jobs) == 0 || len(jobs) > joinJobs || size(jobs) > addBytes/8 {
		return false
	}
	for _, j := range jobs {
		if j.Parent != nil {
			return false
		}
	}
	return true
}

// add stores jobs in a call of their own, or with others. The end of ctx is
// that of this add alone.
func (g *gather) add(ctx context.Context, jobs []intake) ([]storage.Added, error) {
	now := time.Now()
	g.mu.Lock()
	if g.running < addLanes || now.Sub(g.progress) > g.patience {
		g.running++
		g.progress = now
		g.mu.Unlock()
		defer g.handOver()
		return g.s.add(ctx, g.queue, jobs)
	}
	j := &joined{jobs: jobs, done: make(chan struct{})}
	g.waiting = append(g.waiting, j)
	g.mu.Unlock()
	select {
	case <-j.done:
		return j.added, j.err
	case <-ctx.Done():
	}
	if g.leave(j) {
		return nil, explain(context.Cause(ctx))
	}
	return nil, uncertain(context.Cause(ctx))
}

// leave takes an add out of those that wait, if no call has it yet.
func (g *gather) leave(j *joined) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, w := range g.waiting {
		if w == j {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// handOver ends a call; what gathered meanwhile goes on its lane.
func (g *gather) handOver() {
	if batch := g.next(); batch != nil {
		go g.send(batch)
	}
}

// send makes calls until nothing waits. They have no context of a caller: if
// one gives up, the others' jobs are added all the same.
func (g *gather) send(batch []*joined) {
	for batch != nil {
		var jobs []intake
		for _, j := range batch {
			jobs = append(jobs, j.jobs...)
		}
		added := make([]storage.Added, len(jobs))
		err := g.s.addStep(context.Background(), g.queue, jobs, added)
		if ofOneJob(err) && len(batch) > 1 { // nothing is stored: each add meets its own error, if it has one
			g.sendApart(batch)
			batch = g.next()
			continue
		}
		for _, j := range batch {
			if j.err = err; err == nil {
				j.added, added = added[:len(j.jobs):len(j.jobs)], added[len(j.jobs):]
			}
			close(j.done)
		}
		runtime.Gosched() // those that were answered may have more to add
		batch = g.next()
	}
}

// sendApart makes a call for each add.
func (g *gather) sendApart(batch []*joined) {
	for _, j := range batch {
		j.added = make([]storage.Added, len(j.jobs))
		if j.err = g.s.addStep(context.Background(), g.queue, j.jobs, j.added); j.err != nil {
			j.added = nil
		}
		close(j.done)
	}
}

// next takes as many of those that wait as go into one call; nil when the lane ends.
func (g *gather) next() []*joined {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.progress = time.Now()
	if len(g.waiting) == 0 {
		g.running--
		return nil
	}
	n, jobs, bytes := 0, 0, 0
	for n < len(g.waiting) {
		w := g.waiting[n]
		jobs += len(w.jobs)
		bytes += size(w.jobs)
		if n > 0 && (jobs > addJobs || bytes > addBytes) {
			break
		}
		n++
	}
	batch := append([]*joined(nil), g.waiting[:n]...)
	left := copy(g.waiting, g.waiting[n:])
	clear(g.waiting[left:])
	g.waiting = g.waiting[:left]
	return batch
}

// size is about how many bytes jobs have on the wire.
func size(jobs []intake) int {
	n := 0
	for _, j := range jobs {
		n += len(j.Name) + len(j.Data) + len(j.Opts)
	}
	return n
}
