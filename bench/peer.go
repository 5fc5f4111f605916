package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// contender is a queue library under test, in a process of its own.
type contender interface {
	// load adds jobs as fast as the library can; it is not measured.
	load(ctx context.Context, o *order) error
	// work runs the jobs that are there; each handler ticks the meter.
	work(ctx context.Context, o *order, m *meter) error
	// bulk adds jobs, o.Size in one call.
	bulk(ctx context.Context, o *order, m *meter) error
	// single adds jobs one a call, o.Concurrency calls at a time.
	single(ctx context.Context, o *order, m *meter) error
	// latency runs a worker that handles received, and adds jobs with add, each
	// when the one before was received and the gap is over.
	latency(ctx context.Context, o *order, m *meter) error
	// addFlows adds flows of a parent and o.Children children, o.Size in one call.
	addFlows(ctx context.Context, o *order, m *meter) error
	// workFlows adds flows while a worker works them; measured is until the last
	// parent was handled.
	workFlows(ctx context.Context, o *order, m *meter) error
}

// contenders are those written in Go, by name.
var contenders = map[string]func(addr string) (contender, error){
	"ours":  newOurs,
	"asynq": newAsynq,
	"limit": newLimit,
	"river": newRiver,
}

// serve carries out orders until the input ends.
func serve(name, addr string, in io.Reader, out io.Writer) error {
	open, ok := contenders[name]
	if !ok {
		return fmt.Errorf("there is no contender %q", name)
	}
	c, err := open(addr)
	if err != nil {
		return err
	}
	m := &meter{out: json.NewEncoder(out)}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		m.reset(&o)
		if err := carryOut(context.Background(), c, &o, m); err != nil {
			m.emit(event{Event: "error", Text: err.Error()})
			continue
		}
		m.emit(event{Event: "done", Latencies: m.latencies})
	}
	return lines.Err()
}

func carryOut(ctx context.Context, c contender, o *order, m *meter) error {
	switch o.Op {
	case "load":
		return c.load(ctx, o)
	case "work":
		return c.work(ctx, o, m)
	case "bulk":
		return c.bulk(ctx, o, m)
	case "single":
		return c.single(ctx, o, m)
	case "latency":
		return c.latency(ctx, o, m)
	case "addFlows":
		return c.addFlows(ctx, o, m)
	case "workFlows":
		return c.workFlows(ctx, o, m)
	case "soak":
		if p, ok := c.(*ours); ok {
			return p.soak(ctx, o, m)
		}
	case "bare":
		bare(o, m)
		return nil
	}
	return fmt.Errorf("there is no order %q", o.Op)
}

// meter tells when what is measured begins and ends.
type meter struct {
	out       *json.Encoder
	mu        sync.Mutex // of out
	count     atomic.Int64
	warm, end int64
	began     time.Time
	finished  chan struct{} // closed at the end
	latencies []float64
}

func (m *meter) reset(o *order) {
	m.count.Store(0)
	m.warm, m.end = int64(o.Warm), int64(o.Warm+o.Jobs)
	m.finished = make(chan struct{})
	m.latencies = nil
}

// tick counts a job. The one that ends the warming up begins the measurement.
func (m *meter) tick() {
	switch m.count.Add(1) {
	case m.warm:
		m.begin()
	case m.end:
		m.stop()
	}
}

func (m *meter) begin() {
	m.emit(event{Event: "begin"})
	m.began = time.Now()
}

func (m *meter) stop() {
	m.emit(event{Event: "end", Seconds: time.Since(m.began).Seconds()})
	close(m.finished)
}

func (m *meter) emit(e event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.out.Encode(e); err != nil {
		panic(err) // nobody listens any more
	}
}

// handle is what all handlers do.
func (m *meter) handle(o *order) {
	if o.HandlerMS > 0 {
		time.Sleep(time.Duration(o.HandlerMS) * time.Millisecond)
	}
	m.tick()
}

// bare does the work of a work order without a queue: so many goroutines that
// do one job after the other.
func bare(o *order, m *meter) {
	var all sync.WaitGroup
	var next atomic.Int64
	for range o.Concurrency {
		all.Go(func() {
			for next.Add(1) <= m.end {
				m.handle(o)
			}
		})
	}
	all.Wait()
}

// spread makes calls 0 to n-1, some at a time, and returns the first error.
func spread(n, atOnce int, call func(i int) error) error {
	var all sync.WaitGroup
	var next atomic.Int64
	errs := make(chan error, atOnce)
	for range atOnce {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := call(i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}

// pickUps measures how long it takes from the moment before a job is added to
// an idle queue until its handler starts.
func pickUps(o *order, m *meter, received <-chan time.Time, add func(i int) error) error {
	for i := range o.Jobs + 1 {
		time.Sleep(time.Duration(o.GapMS) * time.Millisecond)
		if i == 1 {
			m.begin() // the first job opened connections
		}
		at := time.Now()
		if err := add(i); err != nil {
			return err
		}
		took := (<-received).Sub(at)
		if i > 0 {
			m.latencies = append(m.latencies, float64(took.Nanoseconds())/1000)
		}
	}
	m.stop()
	return nil
}
