package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
)

// Option tells [Check] and [Keyspace] what cannot be seen in the keys.
type Option func(*snapshot)

// Looking says that a worker of the queue took the marker and is about to look
// for jobs, or to do so when a rate limit ends: nobody else needs to be woken.
func Looking(queue string) Option {
	return func(s *snapshot) { s.looking[queue] = true }
}

// KnowsOf says that a worker of the queue will look for jobs at a time by
// itself, because it knows of a job that is due then.
func KnowsOf(queue string, due time.Time) Option {
	return func(s *snapshot) { s.knows[queue] = due }
}

// Check reads all keys of a server, or of one database, and returns the
// problems of those under a prefix. The database must be at rest.
func Check(ctx context.Context, c redis.UniversalClient, prefix string, opts ...Option) ([]Problem, error) {
	state, err := vectors.Snapshot(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	return Keyspace(state, prefix, opts...), nil
}

// Keyspace returns the problems of the keys under a prefix.
func Keyspace(state vectors.Keyspace, prefix string, opts ...Option) []Problem {
	s := &snapshot{state: state, queues: map[string]*queueKeys{}, looking: map[string]bool{}, knows: map[string]time.Time{}}
	for _, o := range opts {
		o(s)
	}
	s.sort(prefix)
	for _, name := range slices.Sorted(maps.Keys(s.queues)) {
		s.queue(s.queues[name])
	}
	for key, e := range state {
		if strings.HasPrefix(key, prefix+"::") {
			CheckOwner(s.report, prefix, key, e.Type, e.Set)
		}
	}
	slices.SortStableFunc(s.problems, func(x, y Problem) int { return cmp.Compare(x.Key, y.Key) })
	return s.problems
}

// snapshot is a whole database, sorted by queues.
type snapshot struct {
	state    vectors.Keyspace
	queues   map[string]*queueKeys // by base
	problems []Problem
	looking  map[string]bool
	knows    map[string]time.Time
}

// queueKeys are the keys of one queue, by what they are.
type queueKeys struct {
	name, base string
	own        map[string]vectors.Entry            // by suffix
	jobs       map[string]*Job                     // by id
	parts      map[string]map[string]vectors.Entry // by id, then by part
	held, next map[string]vectors.Entry            // by deduplication id
	scheduled  map[string]bool                     // schedules that have settings
}

func (s *snapshot) report(p Problem) { s.problems = append(s.problems, p) }

// sort finds the queues under a prefix, and what each key is.
func (s *snapshot) sort(prefix string) {
	for _, key := range slices.Sorted(maps.Keys(s.state)) {
		rest, below := strings.CutPrefix(key, prefix+":")
		name, _, ok := strings.Cut(rest, ":")
		if !below || !ok || name == "" {
			continue
		}
		base := prefix + ":" + name + ":"
		if s.queues[base] == nil {
			s.queues[base] = &queueKeys{
				name: name, base: base, own: map[string]vectors.Entry{}, jobs: map[string]*Job{},
				parts: map[string]map[string]vectors.Entry{}, held: map[string]vectors.Entry{},
				next: map[string]vectors.Entry{}, scheduled: map[string]bool{},
			}
		}
		s.sortKey(s.queues[base], key)
	}
	for _, q := range s.queues {
		for _, state := range Containers {
			for _, id := range ids(q.own[state]) {
				if j := q.jobs[id]; j != nil {
					j.States = append(j.States, state)
				}
			}
			for _, m := range q.own[state].Sorted {
				if j := q.jobs[m.Name]; j != nil {
					j.Scores[state] = m.Score
				}
			}
		}
	}
}

// ids are the members of a list, set or sorted set.
func ids(e vectors.Entry) []string {
	out := slices.Concat(e.List, e.Set)
	for _, m := range e.Sorted {
		out = append(out, m.Name)
	}
	return out
}

func (s *snapshot) sortKey(q *queueKeys, key string) {
	e := s.state[key]
	kind, name, part := Classify(strings.TrimPrefix(key, q.base), func(id string) bool {
		return slices.ContainsFunc(s.state[q.base+"repeat"].Sorted, func(m vectors.Member) bool { return m.Name == id })
	})
	switch kind {
	case KindOwn:
		CheckType(s.report, key, e.Type, OwnTypes[name])
		q.own[name] = e
	case KindPart:
		CheckType(s.report, key, e.Type, PartTypes[part])
		if q.parts[name] == nil {
			q.parts[name] = map[string]vectors.Entry{}
		}
		q.parts[name][part] = e
	case KindDedup:
		CheckType(s.report, key, e.Type, "string")
		q.held[name] = e
	case KindNext:
		CheckType(s.report, key, e.Type, "hash")
		q.next[name] = e
	case KindScheduler:
		CheckType(s.report, key, e.Type, "hash")
		q.scheduled[name] = true
	case KindJob:
		if e.Type != "hash" {
			CheckUnknown(s.report, key, e.Type)
			return
		}
		q.jobs[name] = &Job{ID: name, Key: key, Fields: e.Hash, Scores: map[string]float64{}}
	}
}

// queue checks everything of one queue.
func (s *snapshot) queue(q *queueKeys) {
	for _, id := range slices.Sorted(maps.Keys(q.parts)) {
		for _, part := range slices.Sorted(maps.Keys(q.parts[id])) {
			if q.jobs[id] == nil {
				CheckPart(s.report, q.base+id+":"+part, id)
			}
		}
	}
	settings := s.settings(q)
	settings.Counters(s.report)
	for _, id := range slices.Sorted(maps.Keys(q.jobs)) {
		s.job(q, q.jobs[id])
		settings.CheckNumber(s.report, id)
	}
	for _, state := range Containers {
		for _, id := range ids(q.own[state]) {
			if q.jobs[id] == nil && !IsLegacy(id) {
				CheckGhost(s.report, q.base, state, id)
			}
		}
	}
	for _, m := range q.own["prioritized"].Sorted {
		if q.jobs[m.Name] != nil {
			settings.CheckPlace(s.report, Member(m))
		}
	}
	settings.Check(s.report)
	s.dedup(q)
	for _, e := range q.own["events"].Stream {
		CheckEvent(s.report, q.base+"events", e.ID, e.Fields)
	}
	for _, m := range q.own["repeat"].Sorted {
		next := NextJob(Member(m))
		sched := Scheduler{Key: q.base + "repeat:" + m.Name, Settings: q.scheduled[m.Name], Next: next, Waits: q.jobs[next] != nil}
		sched.Check(s.report)
	}
}

// job checks one job, and its children.
func (s *snapshot) job(q *queueKeys, j *Job) {
	parts := q.parts[j.ID]
	if lock, ok := parts["lock"]; ok {
		j.Lock = &Lock{Expires: lock.TTL != nil}
	}
	j.Stalled = slices.Contains(q.own["stalled"].Set, j.ID)
	j.Pending, j.Failing = len(parts["dependencies"].Set), len(parts["unsuccessful"].Sorted)
	if parent := s.find(j.Fields["parentKey"]); parent != nil {
		j.Parent = &ParentOf{
			Timestamp: parent.number("timestamp"),
			Waits:     slices.Contains(s.state[j.Fields["parentKey"]+":dependencies"].Set, j.Key),
		}
	}
	j.Check(s.report)
	for _, key := range parts["dependencies"].Set {
		s.child(key).CheckPending(s.report, j.Key, j.ID)
	}
	for _, m := range parts["unsuccessful"].Sorted {
		c := s.child(m.Name)
		c.FailedAt = m.Score
		c.CheckFailing(s.report, j.Key, j.ID)
	}
}

// child reads what a parent needs to know of a child.
func (s *snapshot) child(key string) *Child {
	j := s.find(key)
	if j == nil {
		return &Child{Key: key}
	}
	return &Child{
		Key: key, Exists: true, ParentKey: j.Fields["parentKey"], Timestamp: j.number("timestamp"),
		Completed: j.In("completed"), Failed: j.In("failed"),
	}
}

// find returns the job with a key, or nil.
func (s *snapshot) find(key string) *Job {
	i := strings.LastIndexByte(key, ':')
	if q := s.queues[key[:i+1]]; q != nil {
		return q.jobs[key[i+1:]]
	}
	return nil
}

// settings collects what a queue has beside its jobs.
func (s *snapshot) settings(q *queueKeys) *Queue {
	out := &Queue{
		Name: q.name, Base: q.base, Text: map[string]string{}, Meta: q.own["meta"].Hash,
		Active: len(q.own["active"].List), Metrics: map[string]*Metrics{}, Looking: s.looking[q.name],
	}
	for _, name := range []string{"id", "pc", "limiter"} {
		if e, ok := q.own[name]; ok {
			out.Text[name] = e.Text
		}
	}
	out.LimiterExpires = q.own["limiter"].TTL != nil
	for _, m := range q.own["marker"].Sorted {
		out.Marker = append(out.Marker, Member(m))
	}
	for _, id := range slices.Concat(ids(q.own["wait"]), ids(q.own["paused"]), ids(q.own["prioritized"])) {
		if !IsLegacy(id) {
			out.Waiting++
		}
	}
	if delayed := q.own["delayed"].Sorted; len(delayed) > 0 {
		out.Delayed = (*Member)(&delayed[0])
	}
	for _, state := range []string{"completed", "failed"} {
		h, ok := q.own["metrics:"+state]
		out.Metrics[state] = &Metrics{Exists: ok, Hash: h.Hash, Points: q.own["metrics:"+state+":data"].List}
	}
	if due, ok := s.knows[q.name]; ok {
		out.Knows = float64(due.UnixMilli())
	}
	return out
}

// dedup checks deduplication ids and the jobs that are kept to follow others.
func (s *snapshot) dedup(q *queueKeys) {
	for _, id := range slices.Sorted(maps.Keys(q.held)) {
		e := q.held[id]
		d := Dedup{Key: q.base + "de:" + id, ID: id, Holder: e.Text, Expires: e.TTL != nil}
		if holder := q.jobs[e.Text]; holder != nil {
			d.Exists, d.HolderID, d.Finished = true, holder.Fields["deid"], holder.In("completed", "failed")
		}
		d.Check(s.report)
	}
	for _, id := range slices.Sorted(maps.Keys(q.next)) {
		followed := false
		for _, j := range q.jobs {
			followed = followed || j.Fields["deid"] == id && !j.In("completed", "failed")
		}
		CheckNext(s.report, q.base+"dn:"+id, followed)
	}
}
