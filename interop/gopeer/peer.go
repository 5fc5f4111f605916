package main

import (
	"sync"
	"sync/atomic"
	"time"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
)

// peer is what requests work on.
type peer struct {
	client *bullmq.Client
	store  *redisq.Store // for what the public interface of the runtime has no call for
	prefix string
	clock  clock
	out    *writer
	holds  *holds

	mu      sync.Mutex
	workers map[string]*worker
	manuals map[string]*manual
	held    map[jobKey]*heldJob
	readers map[string]func() // what ends the reading of a queue's events
}

// clock is the time that the client reads. Timers go on by the real one.
type clock struct{ fixed atomic.Int64 }

func (c *clock) now() time.Time {
	if ms := c.fixed.Load(); ms != 0 {
		return time.UnixMilli(ms)
	}
	return time.Now()
}

// queueArgs are in all requests about a queue.
type queueArgs struct {
	Queue string `json:"queue"`
}

// jobArgs are in all requests about a job.
type jobArgs struct {
	Queue string `json:"queue"`
	ID    string `json:"id"`
}

func (p *peer) queue(a queueArgs) *bullmq.Queue { return p.client.Queue(a.Queue) }

// none is the answer of what has none.
type none = struct{}

var clockOps = ops{
	"clock.set":  act(func(p *peer, a struct{ MS int64 }) error { p.clock.fixed.Store(a.MS); return nil }),
	"clock.real": act(func(p *peer, _ none) error { p.clock.fixed.Store(0); return nil }),
	"ping": ask(func(*peer, none) (map[string]string, error) {
		return map[string]string{"library": "bullmq-gen", "version": bullmq.Version}, nil
	}),
}

func millis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
