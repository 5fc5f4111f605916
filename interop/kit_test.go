package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testneed"
)

// patience is how long a test waits for what must happen. Runs against other
// releases shorten it: there, what an old release does not do is expected.
var patience = func() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("BULLMQ_PATIENCE")); err == nil {
		return d
	}
	return testneed.Patience
}()

// kit is a test with a deadline and a server.
type kit struct {
	*testing.T
	ctx context.Context
	rdb *redis.Client
}

func newKit(t *testing.T, rdb *redis.Client) *kit {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, fmt.Errorf("nothing after %v", patience))
	t.Cleanup(cancel)
	return &kit{t, ctx, rdb}
}

var names atomic.Int64

// name is a name that no other test of this binary uses.
func name(what string) string { return fmt.Sprintf("%s-%d", what, names.Add(1)) }

// until waits for a condition that no event tells of.
func (k *kit) until(what string, ok func() bool) {
	k.Helper()
	require.Eventually(k, ok, patience, 5*time.Millisecond, what)
}

// on is a queue as seen by a peer. Its calls end the test when they fail.
type on struct {
	*kit
	peer  *Peer
	queue string
}

func (k *kit) on(p *Peer, queue string) *on { return &on{k, p, queue} }

// try makes a request about the queue.
func (o *on) try(op string, args Args, out any) error {
	all := Args{"queue": o.queue}
	for name, value := range args {
		all[name] = value
	}
	return o.peer.Call(o.ctx, op, all, out)
}

// do makes a request about the queue, and returns what it answers.
func (o *on) do(op string, args Args) json.RawMessage {
	o.Helper()
	var out json.RawMessage
	require.NoError(o, o.try(op, args, &out))
	return out
}

// ask makes a request about the queue and decodes the answer.
func ask[T any](o *on, op string, args Args) T {
	o.Helper()
	var out T
	require.NoError(o, o.try(op, args, &out))
	return out
}

// add adds a job and returns its id.
func (o *on) add(name string, data any, opts Args) string {
	o.Helper()
	id, err := o.tryAdd(name, data, opts)
	require.NoError(o, err)
	return id
}

func (o *on) tryAdd(name string, data any, opts Args) (string, error) {
	var job Job
	if opts == nil {
		opts = Args{}
	}
	err := o.try("queue.add", Args{"name": name, "data": data, "opts": opts}, &job)
	return job.ID, err
}

// addMany adds n jobs with their number as payload, and returns their ids.
func (o *on) addMany(n int, name string, opts Args) []string {
	o.Helper()
	jobs := make([]Args, n)
	for i := range jobs {
		jobs[i] = Args{"name": name, "data": i, "opts": opts}
		if opts == nil {
			jobs[i]["opts"] = Args{}
		}
	}
	added := ask[[]Job](o, "queue.addBulk", Args{"jobs": jobs})
	return idsOf(added)
}

func idsOf(jobs []Job) []string {
	ids := make([]string, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ID
	}
	return ids
}

// job reads a job.
func (o *on) job(id string) *Job {
	o.Helper()
	return ask[*Job](o, "job.get", Args{"id": id})
}

func (o *on) state(id string) string {
	o.Helper()
	return ask[string](o, "queue.getJobState", Args{"id": id})
}

// counts are the numbers of jobs by state, without the states that have none.
func (o *on) counts() map[string]int {
	o.Helper()
	counts := ask[map[string]int](o, "queue.getJobCounts", nil)
	for s, n := range counts {
		if n == 0 {
			delete(counts, s)
		}
	}
	return counts
}

// A step is one thing that a handler does; a run is what it does at one start
// of a job; a script has the runs of each name of a job.
type (
	step   = Args
	run    = []step
	script = map[string][]run
)

func returns(v any) step       { return step{"do": "return", "value": v} }
func throws(s string) step     { return step{"do": "throw", "message": s} }
func gives(s string) step      { return step{"do": "unrecoverable", "message": s} }
func holds(key string) step    { return step{"do": "hold", "key": key} }
func progresses(v any) step    { return step{"do": "progress", "value": v} }
func logs(line string) step    { return step{"do": "log", "line": line} }
func does(what string) step    { return step{"do": what} }
func delays(ms int) step       { return step{"do": "delay", "ms": ms} }
func limits(ms int) step       { return step{"do": "rateLimit", "ms": ms} }
func once(steps ...step) []run { return []run{steps} }

// worker is a worker on a peer.
type worker struct {
	*on
	key    string
	closed bool
}

// work starts a worker on the peer, closed at the end of the test.
func (o *on) work(s script, opts Args) *worker {
	o.Helper()
	return o.workWith(s, opts, nil)
}

// workWith also gives the worker strategies of backoff.
func (o *on) workWith(s script, opts, backoff Args) *worker {
	o.Helper()
	w := &worker{on: o, key: name("worker")}
	args := Args{"worker": w.key, "handlers": s}
	if opts != nil {
		args["opts"] = opts
	}
	if backoff != nil {
		args["backoff"] = backoff
	}
	o.do("worker.start", args)
	o.Cleanup(func() {
		if !w.closed && o.peer.Alive() {
			_ = o.peer.Call(context.Background(), "worker.close", Args{"worker": w.key, "force": true}, nil)
		}
	})
	return w
}

// close ends the worker when its jobs are done.
func (w *worker) close() {
	w.Helper()
	w.closed = true
	w.do("worker.close", Args{"worker": w.key})
}

// kill ends the worker at once.
func (w *worker) kill() {
	w.Helper()
	w.closed = true
	w.do("worker.close", Args{"worker": w.key, "force": true})
}

// release lets the handlers of a peer go on that hold with a key.
func (o *on) release(key string) {
	o.Helper()
	o.do("worker.release", Args{"key": key})
}

// held waits until a handler of the peer holds with a key.
func (o *on) held(key string) *Event {
	o.Helper()
	return o.await("handler held by "+key, func(e *Event) bool { return e.Kind == "held" && e.Key == key })
}

func (o *on) await(what string, match func(*Event) bool) *Event {
	o.Helper()
	e, err := o.peer.AwaitOne(o.ctx, o.queue, what, match)
	require.NoError(o, err)
	return e
}

// said waits for an event of one of the peer's workers about a job.
func (w *worker) said(what, id string) *Event {
	w.Helper()
	return w.await(what+" of job "+id+" by "+w.key, func(e *Event) bool {
		return e.Kind == "worker" && e.Worker == w.key && e.Name == what && e.JobID() == id
	})
}

// listen makes the peer read the queue's events from now on.
func (o *on) listen() *on {
	o.Helper()
	o.do("events.start", nil)
	return o
}

// saw waits for an event of the queue about a job, as the peer reads it.
func (o *on) saw(what, id string) *Event {
	o.Helper()
	return o.await(what+" of job "+id, func(e *Event) bool {
		return e.Kind == "queue" && e.Name == what && e.JobID() == id
	})
}

// sawAll waits for as many events of a name, and returns them.
func (o *on) sawAll(what string, n int) []*Event {
	o.Helper()
	var out []*Event
	_, err := o.peer.Await(o.ctx, o.queue, fmt.Sprintf("%d times %s", n, what), func(all []*Event) bool {
		out = out[:0]
		for _, e := range all {
			if e.Kind == "queue" && e.Name == what {
				out = append(out, e)
			}
		}
		return len(out) >= n
	})
	require.NoError(o, err)
	return out
}

// result waits for a job's result as a caller does.
func (o *on) result(id string) json.RawMessage {
	o.Helper()
	return o.do("job.waitUntilFinished", Args{"id": id})
}

// same requires equal JSON.
func same(t *testing.T, want any, got json.RawMessage, what ...any) {
	t.Helper()
	text, err := json.Marshal(want)
	require.NoError(t, err)
	if len(got) == 0 {
		got = json.RawMessage("null")
	}
	require.JSONEq(t, string(text), string(got), what...)
}
