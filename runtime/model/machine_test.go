package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// lockTime is longer than a test takes: locks expire when the test says so.
const lockTime = time.Hour

// takers are the workers of each queue.
var takers = []taker{
	{},
	{name: "w1", limit: bullmq.RateLimit{Max: 3, Per: time.Minute}, metrics: true},
}

var queueNames = []string{"a", "b"}

// machine makes each call to the queues and to the model of them.
type machine struct {
	*world
	ctx    context.Context //nolint:containedctx // of the test
	rdb    *redis.Client
	store  *redisq.Store
	client *bullmq.Client
	hands  map[string][]*bullmq.Manual // by queue, then as takers
	tasks  map[string]*bullmq.Task[payload, int]

	held   []*held
	asleep map[string]sleep // idle workers, by queue
	added  int              // how many payloads were made up
	calls  int              // how many tokens
}

// sleep is what an idle worker knows: when it will look for jobs by itself.
type sleep struct {
	until   int64 // ms; 0: when it is woken
	limited bool  // it does not even listen until then
}

// newMachine begins anew on a server.
func newMachine(t *rapid.T, ctx context.Context, server *testredis.Server, rdb *redis.Client) *machine {
	require.NoError(t, rdb.FlushDB(ctx).Err())
	m := &machine{
		world: newWorld(queueNames...), ctx: ctx, rdb: rdb, hands: map[string][]*bullmq.Manual{},
		tasks: map[string]*bullmq.Task[payload, int]{}, asleep: map[string]sleep{},
	}
	clock := func() time.Time { return time.UnixMilli(m.now) }
	var err error
	m.store, err = redisq.New(rdb, redisq.Clock(clock))
	require.NoError(t, err)
	m.client, err = bullmq.NewClient(m.store, bullmq.WithClock(clock))
	require.NoError(t, err)
	for _, name := range queueNames {
		for _, w := range takers {
			opts := []bullmq.WorkerOption{bullmq.LockDuration(lockTime)}
			if w.name != "" {
				opts = append(opts, bullmq.WorkerName(w.name), bullmq.Limit(w.limit.Max, w.limit.Per), bullmq.Metrics(5))
			}
			hand, err := bullmq.NewManual(m.client, name, opts...)
			require.NoError(t, err)
			m.hands[name] = append(m.hands[name], hand)
		}
	}
	return m
}

func (m *machine) close() {
	for _, hands := range m.hands {
		for _, hand := range hands {
			_ = hand.Close()
		}
	}
	_ = m.client.Close()
	_ = m.store.Close()
}

// refused requires that a call and the model refuse for the same reason.
func refused(t *rapid.T, want, got error) {
	if want == nil {
		require.NoError(t, got)
	} else {
		require.ErrorIs(t, got, want)
	}
}

func (m *machine) anyQueue(t *rapid.T) *queue {
	return m.queues[rapid.SampledFrom(queueNames).Draw(t, "queue")]
}

func (m *machine) api(q *queue) *bullmq.Queue { return m.client.Queue(q.name) }

// anyJob draws a job of the queue, in one of some states or in any, and
// sometimes one that does not exist.
func (m *machine) anyJob(t *rapid.T, q *queue, in ...bullmq.State) string {
	var ids []string
	for _, s := range states {
		if len(in) == 0 || slices.Contains(in, s) {
			ids = append(ids, q.list(s)...)
		}
	}
	return rapid.SampledFrom(append(ids, "none")).Draw(t, "job")
}

// token is a token that no other call has.
func (m *machine) token() string {
	m.calls++
	return fmt.Sprint("token-", m.calls)
}

// keep notes jobs that were taken, with what is known of them then.
func (m *machine) keep(t *rapid.T, q *queue, by int, want []*job, ids []string, token string, hands []*bullmq.ActiveJob) {
	var wanted []string
	for _, j := range want {
		wanted = append(wanted, j.id)
	}
	require.Equal(t, wanted, ids, "jobs taken from queue %s", q.name)
	for i, j := range want {
		j.token = token
		h := &held{queue: q.name, id: j.id, token: token, by: by, request: j.request, made: j.made}
		if hands != nil {
			h.hand = hands[i]
			require.Equal(t, j.made+1, h.hand.Attempt)
			require.Equal(t, j.starts, h.hand.Starts)
			require.Equal(t, j.deferred, h.hand.Record().Deferred)
		}
		m.held = append(m.held, h)
	}
}

// take takes jobs by hand.
func (m *machine) take(t *rapid.T) {
	q := m.anyQueue(t)
	by := rapid.IntRange(0, len(takers)-1).Draw(t, "worker")
	n := rapid.IntRange(1, 4).Draw(t, "n")
	jobs, err := m.hands[q.name][by].TakeNow(m.ctx, n)
	require.NoError(t, err)
	var ids []string
	token := ""
	for _, j := range jobs {
		ids, token = append(ids, j.ID), j.Token()
	}
	want, _ := q.take(n, takers[by], token)
	m.keep(t, q, by, want, ids, token, jobs)
}

// anyHeld draws a job that a worker holds, or believes to hold.
func (m *machine) anyHeld(t *rapid.T) *held {
	if len(m.held) == 0 {
		t.Skip("no job is held")
	}
	h := m.held[rapid.IntRange(0, len(m.held)-1).Draw(t, "held")]
	t.Logf("job %s of queue %s, attempt %d", h.id, h.queue, h.made+1)
	return h
}

func anyOutcome(t *rapid.T) outcome {
	o := outcome{
		kind:  rapid.SampledFrom([]string{"done", "final", "fail", "children", "delay", "back", "limit", "done", "fail", "final", "done"}).Draw(t, "outcome"),
		value: rapid.IntRange(0, 99).Draw(t, "value"),
		ms:    rapid.SampledFrom([]int64{60000, 1000, 120000}).Draw(t, "ms"),
	}
	o.reason = fmt.Sprint("reason ", o.value)
	if o.kind == "limit" {
		o.ms = max(o.ms, 60000) // on the server it ends by the real clock
	}
	if o.kind == "delay" && o.value%4 == 0 {
		o.ms = 0
	}
	return o
}

// err is what a handler returns that wants an outcome.
func (o outcome) err() error {
	d := time.Duration(o.ms) * time.Millisecond
	switch o.kind {
	case "fail":
		return errors.New(o.reason)
	case "final":
		return bullmq.Unrecoverable(errors.New(o.reason))
	case "delay":
		return bullmq.DelayFor(d)
	case "back":
		return bullmq.BackToWait()
	case "limit":
		return bullmq.RateLimited(d)
	case "children":
		return bullmq.WaitForChildren()
	}
	return nil
}

// finish finishes a job.
func (m *machine) finish(t *rapid.T) { m.finishOne(t, m.anyHeld(t), anyOutcome(t)) }

// finishOne finishes a job by hand, or by a call of the storage if it was taken so.
func (m *machine) finishOne(t *rapid.T, h *held, o outcome) {
	q, w := m.queues[h.queue], takers[h.by]
	var err error
	if h.hand != nil {
		err = m.hands[h.queue][h.by].Finish(m.ctx, h.hand, o.value, o.err())
	} else {
		if o.kind == "limit" {
			require.NoError(t, m.store.RateLimit(m.ctx, q.name, time.Duration(o.ms)*time.Millisecond))
		}
		req := m.request(w, 0)
		req.Settle = []storage.Settlement{h.settlement(o)}
		reply, serr := m.store.Settle(m.ctx, q.name, req)
		require.NoError(t, serr)
		err = reply.Errs[0]
	}
	refused(t, m.settleAll(q, []*held{h}, []outcome{o}, w)[0], err)
}

// settleAll settles jobs in the model as one call does, and forgets those that
// are not held any more.
func (m *machine) settleAll(q *queue, jobs []*held, os []outcome, w taker) []error {
	var first, back []int
	due := false
	for i, h := range jobs {
		if now, _ := h.retries(os[i]); now {
			due = true // jobs that are due stand before a retried one
		}
		if os[i].kind == "limit" {
			q.forbid(os[i].ms)
		}
		if os[i].kind == "back" || os[i].kind == "limit" {
			back = append(back, i)
		} else {
			first = append(first, i)
		}
	}
	if due {
		q.promote()
	}
	slices.Reverse(back)
	errs := make([]error, len(jobs))
	for _, i := range slices.Concat(first, back) {
		h := jobs[i]
		errs[i] = q.settle(h, os[i], w)
		if e := errs[i]; e == nil || errors.Is(e, bullmq.ErrLockLost) || errors.Is(e, bullmq.ErrLockMismatch) || errors.Is(e, bullmq.ErrJobNotFound) {
			m.held = slices.DeleteFunc(m.held, func(x *held) bool { return x == h })
		}
	}
	return errs
}

// settle settles several jobs of a worker and takes others, in one call.
func (m *machine) settle(t *rapid.T) {
	h := m.anyHeld(t)
	q, w := m.queues[h.queue], takers[h.by]
	req := m.request(w, rapid.IntRange(0, 3).Draw(t, "n"))
	var jobs []*held
	var os []outcome
	kept, seen := 0, map[string]bool{}
	for _, x := range m.held {
		if x.queue != h.queue || x.by != h.by || seen[x.id] || x != h && rapid.Bool().Draw(t, "other") {
			continue // a call names a job once
		}
		seen[x.id] = true
		o := anyOutcome(t)
		if o.kind == "limit" {
			o.kind = "back" // what else it does is done by another call
		}
		if o.kind == "done" { // with different policies the order matters, which is not told
			if kept++; kept > 1 || x.keepDone != nil {
				o.kind = "final"
			}
		}
		jobs, os = append(jobs, x), append(os, o)
		req.Settle = append(req.Settle, x.settlement(o))
	}
	reply, err := m.store.Settle(m.ctx, q.name, req)
	require.NoError(t, err)
	went := false
	for i, want := range m.settleAll(q, jobs, os, w) {
		refused(t, want, reply.Errs[i])
		went = went || want == nil && os[i].kind == "back"
	}
	m.takenWith(t, q, h.by, req, reply, went)
}

// request is a call of the storage that takes jobs.
func (m *machine) request(w taker, n int) *storage.SettleRequest {
	req := &storage.SettleRequest{
		Now: time.UnixMilli(m.now), Take: n, Token: m.token(), Worker: w.name, Lock: lockTime,
	}
	if w.limit.Max > 0 {
		req.Limit = &storage.RateLimit{Max: w.limit.Max, Per: w.limit.Per}
	}
	if w.metrics {
		req.MetricPoints = 5
	}
	return req
}

// takenWith compares what a call of the storage took. A job that went back
// because of a limit is not taken again by the same call.
func (m *machine) takenWith(t *rapid.T, q *queue, by int, req *storage.SettleRequest, reply *storage.SettleReply, went bool) (limited bool) {
	var want []*job
	most := int64(forbidden)
	if q.limit.Max > 0 {
		most = int64(q.limit.Max)
	} else if takers[by].limit.Max > 0 {
		most = int64(takers[by].limit.Max)
	}
	if req.Take > 0 {
		if went && q.used >= most {
			q.promote()
			limited = true
		} else {
			want, limited = q.take(req.Take, takers[by], req.Token)
		}
	}
	var ids []string
	for _, r := range reply.Jobs {
		ids = append(ids, r.ID)
	}
	m.keep(t, q, by, want, ids, req.Token, nil)
	if limited {
		require.Positive(t, reply.Limited)
	}
	return limited
}

// settlement is how a worker says what became of a job.
func (h *held) settlement(o outcome) storage.Settlement {
	s := storage.Settlement{ID: h.id, Token: h.token}
	now, later := h.retries(o)
	switch {
	case o.kind == "done":
		s.Kind, s.Value = storage.Completed, fmt.Append(nil, o.value)
		s.Keep = kept(h.keepDone)
	case now:
		s.Kind, s.Reason, s.LIFO = storage.RetryNow, o.reason, h.lifo
	case later:
		s.Kind, s.Reason, s.Delay = storage.RetryLater, o.reason, time.Duration(h.backoff)*time.Millisecond
	case o.kind == "fail", o.kind == "final":
		s.Kind, s.Reason, s.Attempts = storage.Failed, o.reason, h.attempts
		s.Keep = kept(h.keepLost)
	case o.kind == "delay":
		s.Kind, s.Delay = storage.DelayedUntil, time.Duration(o.ms)*time.Millisecond
	case o.kind == "back", o.kind == "limit":
		s.Kind = storage.BackToWait
	case o.kind == "children":
		s.Kind = storage.WaitForChildren
	}
	return s
}

func kept(r *bullmq.Retention) storage.Keep {
	if r == nil {
		return storage.Keep{}
	}
	return storage.Keep(*r)
}

// extend renews a lock.
func (m *machine) extend(t *rapid.T) {
	h := m.anyHeld(t)
	if h.hand == nil {
		t.Skip("it was not taken by hand")
	}
	q := m.queues[h.queue]
	err := m.hands[h.queue][h.by].Extend(m.ctx, h.hand)
	if j := q.jobs[h.id]; j == nil || j.token != h.token {
		require.ErrorIs(t, err, bullmq.ErrLockLost)
		return
	}
	require.NoError(t, err)
	delete(q.mark, h.id)
}

// vanish lets the lock of a job expire, as that of a worker that is gone.
func (m *machine) vanish(t *rapid.T) {
	h := m.anyHeld(t)
	j := m.queues[h.queue].jobs[h.id]
	if j == nil || j.token == "" {
		t.Skip("it has no lock")
	}
	j.token = ""
	require.NoError(t, m.rdb.Del(m.ctx, "bull:"+h.queue+":"+h.id+":lock").Err())
}

// recover looks for stalled jobs.
func (m *machine) recover(t *rapid.T) {
	q := m.anyQueue(t)
	most := rapid.IntRange(0, 1).Draw(t, "most")
	require.NoError(t, m.rdb.Del(m.ctx, "bull:"+q.name+":stalled-check").Err())
	ids, err := m.store.RecoverStalled(m.ctx, q.name, storage.StalledRequest{Now: time.UnixMilli(m.now), Interval: time.Hour, MaxStalled: most})
	require.NoError(t, err)
	want := q.recover(most)
	require.ElementsMatch(t, want, ids)
}

// wait lets time pass.
func (m *machine) wait(t *rapid.T) {
	m.now += rapid.SampledFrom([]int64{1000, 60000, 1, 500, 300000, 3600000}).Draw(t, "ms")
	for _, name := range queueNames {
		q := m.queues[name]
		for id, h := range q.held {
			if h.until > 0 && h.until <= m.now {
				delete(q.held, id)
				require.NoError(t, m.rdb.Del(m.ctx, "bull:"+name+":de:"+id).Err())
			}
		}
		if q.used > 0 && q.until <= m.now {
			q.used, q.until = 0, 0
			require.NoError(t, m.rdb.Del(m.ctx, "bull:"+name+":limiter").Err())
		}
		if s, ok := m.asleep[name]; ok && s.until > 0 && s.until <= m.now {
			m.idle(t, q)
		}
	}
}

// idle is a worker that has nothing to do: it takes markers until it gets a
// job, or there is none to get.
func (m *machine) idle(t *rapid.T, q *queue) {
	s := m.asleep[q.name]
	look := s.until > 0 && s.until <= m.now
	if s.until > m.now && s.limited {
		return
	}
	delete(m.asleep, q.name)
	until := s.until
	for {
		if !look {
			z, err := m.rdb.ZPopMin(m.ctx, "bull:"+q.name+":marker").Result()
			require.NoError(t, err)
			if len(z) == 0 {
				m.asleep[q.name] = sleep{until: until}
				return
			}
			if at := int64(z[0].Score); at > m.now {
				until = at
				continue
			}
		}
		look = false
		req := m.request(takers[0], 1)
		reply, err := m.store.Settle(m.ctx, q.name, req)
		require.NoError(t, err)
		limited := m.takenWith(t, q, 0, req, reply, false)
		switch {
		case len(reply.Jobs) > 0:
			return
		case limited:
			m.asleep[q.name] = sleep{until: q.until, limited: true}
			return
		}
		if until = 0; !reply.Due.IsZero() {
			until = reply.Due.UnixMilli()
		}
	}
}
