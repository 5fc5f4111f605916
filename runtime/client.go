package bullmq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Client adds jobs and reads what became of them. It is safe for concurrent
// use; a program has one for each storage.
type Client struct {
	store     storage.Storage
	log       *slog.Logger // of the library's own lines
	userLog   *slog.Logger // as the program gave it, for its handlers
	now       func() time.Time
	ownClock  bool // now is the program's
	maxEvents int
	ownsStore bool

	addMiddleware    []AddMiddleware
	handleMiddleware []HandleMiddleware // of workers

	mu        sync.Mutex
	announced map[string]bool
	watchers  map[string]*watcher
	closed    bool
}

// ClientOption changes a client.
type ClientOption interface{ applyClient(*Client) }

type clientOption func(*Client)

func (f clientOption) applyClient(c *Client) { f(c) }

// WithLogger makes the client, and the workers made from it, log to l.
// Without it they log to slog.Default.
func WithLogger(l *slog.Logger) ClientOption { return clientOption(func(c *Client) { c.log = l }) }

// WithClock makes the client, and the workers made from it, read the time from
// now. All times that are stored come from it, but one: see redisq.Clock. Peers
// on one queue need clocks that agree: a delay begins by the producer's clock and
// ends by the worker's.
func WithClock(now func() time.Time) ClientOption {
	return clientOption(func(c *Client) { c.now, c.ownClock = now, true })
}

// MaxEvents is how many events each queue keeps that the client adds to, about.
// Without it the limit that a peer set stays, or 10000.
func MaxEvents(n int) ClientOption { return clientOption(func(c *Client) { c.maxEvents = n }) }

// NewClient returns a client of a storage, which the client does not close.
// It sends nothing; see Ping.
func NewClient(store storage.Storage, opts ...ClientOption) (*Client, error) {
	c := &Client{
		store: store, log: slog.Default(), now: time.Now, maxEvents: -1,
		announced: map[string]bool{}, watchers: map[string]*watcher{},
	}
	for _, o := range opts {
		o.applyClient(c)
	}
	var p problems
	if store == nil {
		p.add("no storage given: open one, for example with redisq.Open")
	}
	if c.log == nil || c.now == nil {
		p.add("logger and clock must not be nil")
	}
	if c.maxEvents < -1 {
		p.add("max events must be 0 or more")
	}
	c.checkMiddleware(&p)
	if err := p.wrap("client"); err != nil {
		return nil, err
	}
	c.userLog, c.log = c.log, guard.Logger(c.log)
	if c.ownClock {
		c.now = guardedClock(c.now, c.log)
	}
	return c, nil
}

// Connect returns a client that owns its storage: Close closes both. It takes what
// the function returns that opens the storage:
//
//	client, err := bullmq.Connect(redisq.Open("redis://localhost:6379"))
//
// A client with options is made with NewClient.
func Connect(store storage.Storage, err error) (*Client, error) {
	if err != nil {
		return nil, err
	}
	c, err := NewClient(store)
	if err == nil {
		c.ownsStore = true
	}
	return c, err
}

// guardedClock is a clock of the program's, and the machine's clock when that one
// does not return.
func guardedClock(now func() time.Time, log *slog.Logger) func() time.Time {
	var once sync.Once
	return func() time.Time {
		var t time.Time
		err := guard.Apart("the clock", func() error { t = now(); return nil })
		if err != nil {
			once.Do(func() { log.Error("bullmq: the time is taken from the machine", "error", err) })
			return time.Now()
		}
		return t
	}
}

// Ping reports whether the storage answers, and what is wrong when it does not.
func (c *Client) Ping(ctx context.Context) error { return c.store.Ping(ctx) }

// Close ends what the client does in the background: reading events for
// results that are waited for, which then return ErrClosed. It closes the storage
// only if Connect made the client.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	watchers := c.watchers
	c.watchers = map[string]*watcher{}
	c.mu.Unlock()
	for _, w := range watchers {
		w.stop()
	}
	if c.ownsStore {
		return c.store.Close()
	}
	return nil
}

// add stores jobs of one queue. The first add of a queue announces the client.
func (c *Client) add(ctx context.Context, queue string, jobs []storage.NewJob) ([]storage.Added, error) {
	if err := c.announce(ctx, queue); err != nil {
		return nil, err
	}
	return c.store.Add(ctx, queue, jobs)
}

func (c *Client) announce(ctx context.Context, queue string) error {
	c.mu.Lock()
	done := c.announced[queue]
	c.mu.Unlock()
	if done {
		return nil
	}
	if err := c.store.Announce(ctx, queue, "bullmq-gen:"+Version, c.maxEvents); err != nil {
		return err
	}
	c.mu.Lock()
	c.announced[queue] = true
	c.mu.Unlock()
	return nil
}

// newJob builds one job from a payload's JSON and its options. Jobs of one
// call have one time: the storage then finds more of them alike.
func (c *Client) newJob(name string, data []byte, o *Options, now time.Time) (storage.NewJob, error) {
	made := o.Timestamp
	if made.IsZero() {
		made = now
	}
	if !o.runAt.IsZero() {
		o.Delay = max(0, o.runAt.Sub(made))
	}
	o.Delay = o.Delay.Truncate(time.Millisecond)
	var p problems
	o.check(&p)
	if o.SizeLimit > 0 && len(data) > o.SizeLimit {
		p.add("the payload has %d bytes of JSON, more than the limit of %d", len(data), o.SizeLimit)
	}
	if len(p.list) > 0 {
		return storage.NewJob{}, p.err()
	}
	job := storage.NewJob{
		ID: o.JobID, Name: name, Data: data, Timestamp: made, Delay: o.Delay,
		Priority: o.Priority, LIFO: o.LIFO, Dedup: o.Dedup.stored(),
	}
	if o.Parent != nil {
		p := Parent{ID: o.Parent.ID, Queue: c.qualify(o.Parent.Prefix, o.Parent.Queue), OnFail: o.Parent.OnFail}
		o.Parent, o.onFail = &p, p.OnFail
		job.Parent = &storage.Parent{ID: p.ID, Queue: p.Queue, OnFail: p.OnFail}
	}
	size := 64
	if o.Parent != nil {
		size += 48 + len(o.Parent.ID) + len(o.Parent.Queue)
	}
	var err error
	job.Opts, err = o.appendJSON(make([]byte, 0, size))
	return job, err
}

// BulkError is what adding many jobs returns when some were refused: the
// others were added.
type BulkError struct {
	// Errs has, by the index of the job in the call, why it was refused.
	Errs map[int]error
	// Total is how many jobs the call was for.
	Total int
}

func (e *BulkError) Error() string {
	first := -1
	for i := range e.Errs {
		if first < 0 || i < first {
			first = i
		}
	}
	return fmt.Sprintf("bullmq: %d of %d jobs were not added; first, at index %d: %v", len(e.Errs), e.Total, first, e.Errs[first])
}

// Unwrap returns the errors of all refused jobs.
func (e *BulkError) Unwrap() []error {
	errs := make([]error, 0, len(e.Errs))
	for i := range e.Total {
		if err := e.Errs[i]; err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// collect gathers the errors of an Add into one.
func collect(added []storage.Added) error {
	var bulk *BulkError
	for i, a := range added {
		if a.Err == nil {
			continue
		}
		if bulk == nil {
			bulk = &BulkError{Errs: map[int]error{}, Total: len(added)}
		}
		bulk.Errs[i] = a.Err
	}
	if bulk == nil {
		return nil // not a typed nil
	}
	return bulk
}

// onlyError returns the error of the only job of a call.
func onlyError(err error) error {
	var bulk *BulkError
	if errors.As(err, &bulk) && bulk.Total == 1 {
		return bulk.Errs[0]
	}
	return err
}

var errNoClient = storage.Invalid("bullmq: no client given: make one with bullmq.NewClient")
