package bullmq

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
	"github.com/bullmq-gen/bullmq-gen/internal/jsjson"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Task is one kind of job: its name on a queue, its options, and the Go types
// of its payload P and its result R. Generated code declares one for each
// annotated struct; without the generator a program does it by hand.
type Task[P, R any] struct {
	spec Spec
	keys func(*P) PayloadOptions
	base Options
	opts []byte // base as stored, for jobs that change nothing
	code *coder // of payloads and results, or nil
	err  error  // what is wrong with the declaration

	typesOnce sync.Once
	typesErr  error // what is wrong with P and R, see Err

	anyName bool // handles may be of jobs with any name: their results have no type
}

// NewTask declares a task. Keys takes options of single jobs from their
// payloads; nil: there are none. What is wrong with the declaration is
// reported by each use of the task, and by Err: declaring one neither panics
// nor does anything.
func NewTask[P, R any](s Spec, keys func(*P) PayloadOptions) *Task[P, R] {
	s.Slots = withCoders(s.Slots)
	t := &Task[P, R]{spec: s, keys: keys, code: newCoder(s.Codec), err: s.validate((*P)(nil))}
	if t.err != nil {
		return t
	}
	t.base = s.options()
	t.opts, t.err = t.base.appendJSON(nil)
	return t
}

// Err is what is wrong with the task's declaration, or nil. That includes a
// payload or result type whose values JSON would lose in part, or not read as
// they were written: the generator reports these first.
func (t *Task[P, R]) Err() error {
	if t.err != nil {
		return t.err
	}
	t.typesOnce.Do(func() {
		t.typesErr = errors.Join(t.checkType("payload", reflect.TypeFor[P]()), t.checkType("result", reflect.TypeFor[R]()))
	})
	return t.typesErr
}

func (t *Task[P, R]) checkType(what string, typ reflect.Type) error {
	if err := jsjson.Check(typ); err != nil {
		return fmt.Errorf("bullmq: task %q: %s %s: %w", t.spec.Name, what, typ, err)
	}
	return nil
}

// Spec is the task's declaration.
func (t *Task[P, R]) Spec() Spec { return t.spec }

// Add adds a job. When a job with the same custom or deduplication id is there
// already, the handle refers to that one, see Handle.Existing. If it is a job of
// another task, nothing is added and the error is ErrOtherTask.
//
// An error that is ErrUncertain says that the job may have been added; with a
// custom id it is safe to add it again. All other errors say that it was not.
func (t *Task[P, R]) Add(ctx context.Context, c *Client, p P, opts ...AddOption) (*JobHandle[R], error) {
	if err := t.usable(c); err != nil {
		return nil, err
	}
	added, err := t.addOne(ctx, c, &p, opts)
	if err == nil {
		err = added.Err
	}
	if err != nil {
		return nil, t.wrap(err)
	}
	h, err := t.handle(c, added)
	return h, t.wrap(err)
}

func (t *Task[P, R]) addOne(ctx context.Context, c *Client, p *P, opts []AddOption) (storage.Added, error) {
	if len(c.addMiddleware) > 0 {
		added, err := t.intercept(ctx, c, AddOne, []P{*p}, opts)
		if err = onlyError(err); err != nil || len(added) == 0 {
			return storage.Added{}, err
		}
		return added[0], nil
	}
	job, err := t.newJob(c, p, opts, c.now())
	if err != nil {
		return storage.Added{}, storage.OfKind(ErrInvalid, err)
	}
	added, err := c.add(ctx, t.spec.Queue.Name, []storage.NewJob{job})
	if err != nil {
		return storage.Added{}, err
	}
	return added[0], nil
}

// AddMany adds jobs in the order given, many in one call of the storage. All
// payloads are checked first: when one is refused, nothing is added. When the
// storage refuses some, or jobs of another task have their ids (ErrOtherTask),
// the error is a *BulkError and their handles are nil.
func (t *Task[P, R]) AddMany(ctx context.Context, c *Client, ps []P, opts ...Option) ([]*JobHandle[R], error) {
	if err := t.usable(c); err != nil {
		return nil, err
	}
	add := make([]AddOption, len(opts))
	for i, o := range opts {
		add[i] = o
	}
	if len(ps) == 0 {
		return nil, nil
	}
	added, err := t.addMany(ctx, c, ps, add)
	handles := make([]*JobHandle[R], len(added))
	for i, a := range added {
		if a.Err == nil {
			handles[i], added[i].Err = t.handle(c, a)
		}
	}
	var bulk *BulkError
	if err == nil || errors.As(err, &bulk) && len(added) > 0 {
		err = collect(added)
	}
	return handles, t.wrap(err)
}

func (t *Task[P, R]) addMany(ctx context.Context, c *Client, ps []P, opts []AddOption) ([]storage.Added, error) {
	if len(c.addMiddleware) > 0 {
		return t.intercept(ctx, c, AddMany, ps, opts)
	}
	now := c.now()
	jobs, err := newJobs(len(ps), func(i int) (storage.NewJob, error) { return t.newJob(c, &ps[i], opts, now) })
	if err != nil {
		return nil, err
	}
	return c.add(ctx, t.spec.Queue.Name, jobs)
}

// newJobs makes the jobs of a call, all or none.
func newJobs(n int, make1 func(i int) (storage.NewJob, error)) ([]storage.NewJob, error) {
	jobs, bulk := make([]storage.NewJob, n), &BulkError{Errs: map[int]error{}, Total: n}
	for i := range jobs {
		var err error
		if jobs[i], err = make1(i); err != nil {
			bulk.Errs[i] = storage.OfKind(ErrInvalid, err)
		}
	}
	if len(bulk.Errs) > 0 {
		return nil, fmt.Errorf("nothing was added: %w", bulk)
	}
	return jobs, nil
}

// intercept adds jobs through the middleware of the client.
func (t *Task[P, R]) intercept(ctx context.Context, c *Client, kind AddKind, ps []P, opts []AddOption) ([]storage.Added, error) {
	call, payloads := &AddCall{Kind: kind, Jobs: make([]*AddedJob, len(ps))}, make([][]byte, len(ps))
	_, err := newJobs(len(ps), func(i int) (none storage.NewJob, err error) {
		j := &AddedJob{Queue: t.spec.Queue.Name, Name: t.spec.Name, Payload: &ps[i], Options: &Options{}, Parent: -1}
		call.Jobs[i] = j
		payloads[i], *j.Options, err = t.prepare(&ps[i], opts)
		return none, err
	})
	if err != nil {
		return nil, err
	}
	var added []storage.Added
	err = c.intercept(ctx, call, func(ctx context.Context) error {
		now := c.now()
		jobs, err := newJobs(len(ps), func(i int) (storage.NewJob, error) {
			return t.stored(c, payloads[i], call.Jobs[i].Options, now)
		})
		if err == nil {
			added, err = c.add(ctx, t.spec.Queue.Name, jobs)
		}
		call.added(added)
		if err == nil {
			err = collect(added)
		}
		return err
	})
	return added, err
}

// JobHandle returns a handle of a job whose id was kept. It does not look
// whether there is such a job: Handle.Result does, and whether it is of the task.
func (t *Task[P, R]) JobHandle(c *Client, id string) *JobHandle[R] {
	h := &JobHandle[R]{ID: id, Queue: t.spec.Queue.Name, client: c, code: t.code}
	h.belongs = func(ctx context.Context) error {
		record, err := c.Queue(h.Queue).Job(ctx, h.ID)
		if err != nil {
			return err
		}
		return t.spec.owns(record.ID, record.Name)
	}
	return h
}

// Handle makes w run the task's jobs, under its name and its earlier ones, with h.
// What is wrong with that is reported when w starts.
func (t *Task[P, R]) Handle(w *Worker, h func(context.Context, *Job[P]) (R, error)) {
	err := t.Err()
	if err == nil && t.spec.Queue.Name != w.queue.Name {
		err = fmt.Errorf("task %q belongs to queue %q, not to %q", t.spec.Name, t.spec.Queue.Name, w.queue.Name)
	}
	if err == nil && h == nil {
		err = fmt.Errorf("task %q has a nil handler", t.spec.Name)
	}
	if err == nil {
		h, err = wrapTyped(w, t.spec.Name, h)
	}
	run := func(ctx context.Context, a *ActiveJob) ([]byte, error) { return t.run(ctx, a, h) }
	w.register(err, run, t.group, slices.Collect(t.spec.names)...)
}

// NoResult makes a handler of a task without result out of a plain one.
func NoResult[P any](h func(context.Context, *Job[P]) error) func(context.Context, *Job[P]) (None, error) {
	if h == nil {
		return nil
	}
	return func(ctx context.Context, job *Job[P]) (None, error) { return None{}, h(ctx, job) }
}

// Decode makes a typed job of one that was taken by hand, see Manual. What is
// wrong with the payload is an unrecoverable error, unless it is ErrUnknownKey.
func (t *Task[P, R]) Decode(a *ActiveJob) (*Job[P], error) {
	job := &Job[P]{ActiveJob: a}
	if err := t.decode(a.run.Record, &job.Data); err != nil {
		return nil, final(err)
	}
	a.slots, a.code, a.upgraded = t.spec.Slots, t.code, t.spec.upgrade(a.Name) != nil
	return job, nil
}

// DecodeRecord reads the payload of a stored job, as it is read for a handler:
// that of a job of an earlier name is upgraded.
func (t *Task[P, R]) DecodeRecord(r *Record) (P, error) {
	var data P
	err := t.decode(r, &data)
	return data, err
}

func (t *Task[P, R]) decode(r *Record, data *P) error {
	text, err := t.code.decode(r.Data, CodecInfo{t.spec.Queue.Name, r.Name, PartData})
	if err != nil {
		return malformed("payload of task %q, job %q: %w", t.spec.Name, r.ID, err)
	}
	if u := t.spec.upgrade(r.Name); u != nil {
		if err := guard.Call("decoding", func() error { return u.decode(text, data) }); err != nil {
			return malformed("payload of job %q, upgraded from %q to task %q: %w", r.ID, r.Name, t.spec.Name, err)
		}
		return nil
	}
	if err := guard.Call("decoding", func() error { return decodePayload(text, data) }); err != nil {
		return malformed("payload of task %q, job %q: %w", t.spec.Name, r.ID, err)
	}
	return nil
}

// DecodeResult reads a result as it is stored, such as that of a CompletedEvent.
func (t *Task[P, R]) DecodeResult(value []byte) (R, error) {
	var result R
	if err := decodeResult(t.code, t.spec.Queue.Name, value, &result); err != nil {
		return result, malformed("result of task %q: %w", t.spec.Name, err)
	}
	return result, nil
}

// group is the group of a job by its payload; empty: none, or the payload does
// not decode, which the run of the job reports.
func (t *Task[P, R]) group(a *ActiveJob) string {
	if t.keys == nil {
		return ""
	}
	job, err := t.Decode(a)
	if err != nil {
		return ""
	}
	return t.keys(&job.Data).Group
}

// run decodes a job's payload, calls its handler and encodes the result.
func (t *Task[P, R]) run(ctx context.Context, a *ActiveJob, h func(context.Context, *Job[P]) (R, error)) ([]byte, error) {
	job, err := t.Decode(a)
	if err != nil {
		return nil, err
	}
	result, err := h(ctx, job)
	if err != nil {
		return nil, err
	}
	text, err := a.encoding(func() ([]byte, error) { return t.code.encodeResult(a.Queue, result) })
	if err != nil {
		// The work is done: trying again would do it twice and fail the same way.
		return nil, Unrecoverable(storage.Invalid("result of task %q, job %q: %w", t.spec.Name, a.ID, err))
	}
	return text, nil
}

// newJob builds a job: the task's options, then the payload's, then the call's.
func (t *Task[P, R]) newJob(c *Client, p *P, opts []AddOption, now time.Time) (storage.NewJob, error) {
	if err := validate(p); err != nil {
		return storage.NewJob{}, err
	}
	data, err := t.encode(p)
	if err != nil {
		return storage.NewJob{}, err
	}
	if t.keys == nil && len(opts) == 0 && t.spec.Dedup == (Dedup{}) && t.spec.SizeLimit == 0 {
		return storage.NewJob{Name: t.spec.Name, Data: data, Opts: t.opts, Timestamp: now, LIFO: t.base.LIFO}, nil
	}
	o, err := t.optionsOf(p, opts)
	if err != nil {
		return storage.NewJob{}, err
	}
	return t.stored(c, data, &o, now)
}

// stored returns a job as the storage takes it. A child whose id is given names the
// tasks whose job may be there under that id.
func (t *Task[P, R]) stored(c *Client, data []byte, o *Options, now time.Time) (storage.NewJob, error) {
	job, err := c.newJob(t.spec.Name, data, o, now)
	if err == nil && job.ID != "" && job.Parent != nil && !t.anyName {
		job.Names = slices.Collect(t.spec.names)
	}
	return job, err
}

// prepare returns a payload as it is stored, and the options of its job.
func (t *Task[P, R]) prepare(p *P, opts []AddOption) (data []byte, o Options, err error) {
	if err := validate(p); err != nil {
		return nil, o, err
	}
	if data, err = t.encode(p); err != nil {
		return nil, o, err
	}
	o, err = t.optionsOf(p, opts)
	return data, o, err
}

// optionsOf returns the options of a job: the task's, then the payload's, then the
// call's.
func (t *Task[P, R]) optionsOf(p *P, opts []AddOption) (Options, error) {
	o := t.base
	if err := t.applyKeys(&o, p); err != nil {
		return o, err
	}
	for _, opt := range opts {
		opt.applyAdd(&o)
	}
	return o, nil
}

// encode makes what is stored of a payload.
func (t *Task[P, R]) encode(p *P) ([]byte, error) {
	data, err := encodeJSON(p)
	if err == nil {
		data, err = t.code.encode(data, CodecInfo{t.spec.Queue.Name, t.spec.Name, PartData})
	}
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	return data, nil
}

// applyKeys sets the options that the payload says, by a function of the program's.
func (t *Task[P, R]) applyKeys(o *Options, p *P) error {
	if t.keys == nil {
		return nil
	}
	var k PayloadOptions
	if err := guard.Call("the function that makes options of the payload", func() error { k = t.keys(p); return nil }); err != nil {
		return err
	}
	o.JobID, o.Priority, o.Delay = k.JobID, k.Priority, k.Delay
	if k.Dedup != "" || t.spec.Dedup != (Dedup{}) {
		d := t.spec.Dedup
		d.ID = k.Dedup
		o.Dedup = &d
	}
	return nil
}

// handle is the handle of a job that was added or was there already.
func (t *Task[P, R]) handle(c *Client, a storage.Added) (*JobHandle[R], error) {
	if err := t.spec.owns(a.ID, a.Name); err != nil && !t.anyName {
		return nil, fmt.Errorf("nothing was added: %w", err)
	}
	return &JobHandle[R]{ID: a.ID, Queue: t.spec.Queue.Name, Existing: a.Existing, client: c, code: t.code}, nil
}

func (t *Task[P, R]) usable(c *Client) error {
	if err := t.Err(); err != nil {
		return err
	}
	if c == nil {
		return errNoClient
	}
	return nil
}

func (t *Task[P, R]) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("bullmq: add %s/%s: %w", t.spec.Queue.Name, t.spec.Name, err)
}
