package model

import (
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// payload is what jobs carry; those that are added many at a time have their
// options in it.
type payload struct {
	N        int    `json:"n"`
	ID       string `json:"id,omitempty"`
	Dedup    string `json:"dedup,omitempty"`
	Priority int    `json:"priority,omitempty"`
	Delay    int64  `json:"delay,omitempty"`
}

func keysOf(p *payload) bullmq.PayloadOptions {
	return bullmq.PayloadOptions{JobID: p.ID, Dedup: p.Dedup, Priority: p.Priority, Delay: time.Duration(p.Delay) * time.Millisecond}
}

// dedups are the ways in which adds yield to one another.
var dedups = []bullmq.Dedup{
	{},
	{TTL: 5 * time.Minute},
	{TTL: 5 * time.Minute, Extend: true},
	{Replace: true},
	{Replace: true, TTL: 5 * time.Minute},
	{Replace: true, TTL: 5 * time.Minute, Extend: true},
	{KeepLastIfActive: true},
	{KeepLastIfActive: true, Replace: true},
	{Reschedule: true},
	{Reschedule: true, TTL: 5 * time.Minute},
}

var keeps = map[string]*bullmq.Retention{
	"none": bullmq.KeepNone(), "one": bullmq.KeepLast(1), "two": bullmq.KeepLast(2), "a minute": bullmq.KeepFor(time.Minute), "all": bullmq.KeepAll(),
}

var policies = []bullmq.OnFail{bullmq.OnFailWait, bullmq.OnFailFail, bullmq.OnFailContinue, bullmq.OnFailIgnore, bullmq.OnFailRemove}

// anyRequest draws a job without what may be different for each of many.
func (m *machine) anyRequest(t *rapid.T) request {
	m.added++
	keep := func(of string) *bullmq.Retention {
		return keeps[rapid.SampledFrom([]string{"default", "default", "default", "none", "one", "two", "a minute", "all"}).Draw(t, "keep "+of)]
	}
	return request{
		n:        m.added,
		lifo:     rapid.IntRange(0, 2).Draw(t, "lifo") == 2,
		attempts: rapid.IntRange(0, 3).Draw(t, "attempts"),
		backoff:  rapid.SampledFrom([]int64{0, 0, 1000, 60000}).Draw(t, "backoff"),
		keepDone: keep("completed"),
		keepLost: keep("failed"),
	}
}

// place draws what makes a job wait where it does, and its id.
func (r *request) place(t *rapid.T) {
	if kind := rapid.SampledFrom([]string{"plain", "later", "urgent", "plain", "both"}).Draw(t, "kind"); kind != "plain" {
		if kind != "urgent" {
			r.delay = rapid.SampledFrom([]int64{1000, 60000, 1, 300000}).Draw(t, "delay")
		}
		if kind != "later" {
			r.priority = rapid.SampledFrom([]int{1, 2, 7}).Draw(t, "priority")
		}
	}
	r.id = rapid.SampledFrom([]string{"", "", "", "c1", "c2", "c3"}).Draw(t, "id")
}

func anyDedup(t *rapid.T) *bullmq.Dedup {
	d := rapid.SampledFrom(dedups).Draw(t, "dedup")
	d.ID = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "dedup id")
	return &d
}

// relate draws what ties a job to others: a deduplication id or a parent.
func (m *machine) relate(t *rapid.T, q *queue, r *request) {
	switch rapid.SampledFrom([]string{"none", "dedup", "parent"}).Draw(t, "relation") {
	case "dedup":
		r.dedup = anyDedup(t)
	case "parent":
		keys := []string{"a:none"}
		for _, name := range queueNames {
			for _, s := range states {
				for _, id := range m.queues[name].list(s) {
					if name != q.name || id != r.id {
						keys = append(keys, m.queues[name].key(id))
					}
				}
			}
			for _, id := range m.queues[name].active { // these are parents more often
				if name != q.name || id != r.id {
					keys = append(keys, m.queues[name].key(id), m.queues[name].key(id))
				}
			}
		}
		r.parent = rapid.SampledFrom(keys).Draw(t, "parent")
		r.onFail = rapid.SampledFrom(policies).Draw(t, "on fail")
	}
}

// shared are the options that many jobs of one call have in common.
func (r *request) shared() []bullmq.Option {
	opts := []bullmq.Option{bullmq.Attempts(r.attempts), bullmq.LIFO(r.lifo), bullmq.KeepCompleted(r.keepDone), bullmq.KeepFailed(r.keepLost)}
	if r.backoff > 0 {
		opts = append(opts, bullmq.WithBackoff(bullmq.Fixed(time.Duration(r.backoff)*time.Millisecond)))
	}
	return opts
}

func (r *request) options() []bullmq.AddOption {
	var opts []bullmq.AddOption
	for _, o := range r.shared() {
		opts = append(opts, o)
	}
	opts = append(opts, bullmq.Delay(time.Duration(r.delay)*time.Millisecond), bullmq.Priority(r.priority))
	if r.id != "" {
		opts = append(opts, bullmq.JobID(r.id))
	}
	if r.dedup != nil {
		opts = append(opts, bullmq.Deduplicate(*r.dedup))
	}
	if r.parent != "" {
		queue, id, _ := strings.Cut(r.parent, ":")
		opts = append(opts, bullmq.ChildOf(bullmq.Parent{Queue: queue, ID: id, OnFail: r.onFail}))
	}
	return opts
}

// add adds one job.
func (m *machine) add(t *rapid.T) {
	q := m.anyQueue(t)
	r := m.anyRequest(t)
	r.place(t)
	m.relate(t, q, &r)
	m.addOne(t, q, r)
}

func (m *machine) addOne(t *rapid.T, q *queue, r request) {
	h, err := m.api(q).Add(m.ctx, "job", payload{N: r.n}, r.options()...)
	id, existing, want := q.add(r)
	refused(t, want, err)
	if err == nil {
		require.Equal(t, id, h.ID)
		require.Equal(t, existing, h.Existing)
	}
}

// family gives a job that a worker holds children, and makes it wait for them.
func (m *machine) family(t *rapid.T) {
	h := m.anyHeld(t)
	for range rapid.IntRange(1, 3).Draw(t, "children") {
		r := m.anyRequest(t)
		r.parent = h.queue + ":" + h.id
		r.onFail = rapid.SampledFrom(policies).Draw(t, "on fail")
		m.addOne(t, m.anyQueue(t), r)
	}
	m.finishOne(t, h, outcome{kind: "children"})
}

// task is one whose jobs yield to one another in the same way.
func (m *machine) task(q *queue, d bullmq.Dedup) *bullmq.Task[payload, int] {
	d.ID = ""
	key := fmt.Sprint(q.name, d)
	if m.tasks[key] == nil {
		m.tasks[key] = bullmq.NewTask[payload, int](bullmq.Spec{Queue: &bullmq.QueueSpec{Name: q.name}, Name: "job", Dedup: d}, keysOf)
	}
	return m.tasks[key]
}

// addMany adds some jobs in one call.
func (m *machine) addMany(t *rapid.T) {
	q := m.anyQueue(t)
	common := m.anyRequest(t)
	dedup, ids := bullmq.Dedup{}, []string{""}
	if rapid.Bool().Draw(t, "yield") {
		dedup, ids = rapid.SampledFrom(dedups).Draw(t, "dedup"), []string{"x", "y"}
	}
	var payloads []payload
	var requests []request
	for range rapid.IntRange(1, 4).Draw(t, "n") {
		m.added++
		r := common
		r.n = m.added
		r.place(t)
		p := payload{N: r.n, ID: r.id, Priority: r.priority, Delay: r.delay}
		if p.Dedup = rapid.SampledFrom(ids).Draw(t, "dedup id"); p.Dedup != "" {
			d := dedup
			d.ID = p.Dedup
			r.dedup = &d
		}
		payloads, requests = append(payloads, p), append(requests, r)
	}
	handles, err := m.task(q, dedup).AddMany(m.ctx, m.client, payloads, common.shared()...)
	require.NoError(t, err)
	for i, r := range requests {
		id, existing, want := q.add(r)
		require.NoError(t, want)
		require.Equal(t, id, handles[i].ID)
		require.Equal(t, existing, handles[i].Existing)
	}
}
