package audit

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
)

// queue is the keys of one queue, by what they are.
type queue struct {
	name string
	base string                   // "<prefix>:<name>:"
	own  map[string]vectors.Entry // of the queue itself, by suffix
	jobs map[string]*job          // by id
	// parts are keys that belong to jobs, by id and then by what they are.
	parts map[string]map[string]vectors.Entry
	held  map[string]vectors.Entry // de: by deduplication id
	next  map[string]vectors.Entry // dn: by deduplication id
	sched map[string]vectors.Entry // repeat: by scheduler id
}

// job is a job's hash and where its id stands.
type job struct {
	id     string
	key    string
	fields map[string]string
	states []string // the containers that hold the id, once for each time
}

// in reports whether the job is in one of some states.
func (j *job) in(states ...string) bool {
	return slices.ContainsFunc(j.states, func(s string) bool { return slices.Contains(states, s) })
}

// number reads a field; ok is false when it is not there or no number.
func (j *job) number(field string) (n float64, ok bool) {
	n, err := strconv.ParseFloat(j.fields[field], 64)
	return n, err == nil
}

// containers are the keys that hold ids, each of which is a state.
var containers = []string{"wait", "paused", "active", "prioritized", "delayed", "waiting-children", "completed", "failed"}

// ownTypes are the keys that a queue has by itself.
var ownTypes = map[string]string{
	"id": "string", "pc": "string", "limiter": "string", "stalled-check": "string",
	"meta": "hash", "metrics:completed": "hash", "metrics:failed": "hash",
	"wait": "list", "paused": "list", "active": "list", "metrics:completed:data": "list", "metrics:failed:data": "list",
	"prioritized": "zset", "delayed": "zset", "waiting-children": "zset", "completed": "zset", "failed": "zset",
	"marker": "zset", "repeat": "zset", "priority": "zset",
	"stalled": "set", "events": "stream",
}

// partTypes are the keys that belong to a job, by what follows its id.
var partTypes = map[string]string{
	"lock": "string", "logs": "list", "dependencies": "set", "processed": "hash", "failed": "hash", "unsuccessful": "zset",
}

// sort finds the queues under a prefix, and what each key is.
func (a *auditor) sort(prefix string) {
	keys := slices.Sorted(maps.Keys(a.state))
	for _, key := range keys {
		if name, _, ok := strings.Cut(strings.TrimPrefix(key, prefix+":"), ":"); ok && strings.HasPrefix(key, prefix+":") && name != "" {
			base := prefix + ":" + name + ":"
			if a.queues[base] == nil {
				a.queues[base] = &queue{
					name: name, base: base, own: map[string]vectors.Entry{}, jobs: map[string]*job{},
					parts: map[string]map[string]vectors.Entry{}, held: map[string]vectors.Entry{},
					next: map[string]vectors.Entry{}, sched: map[string]vectors.Entry{},
				}
			}
			a.sortKey(a.queues[base], key)
		}
	}
	for _, q := range a.queues {
		for _, state := range containers {
			for _, id := range q.ids(state) {
				if j := q.jobs[id]; j != nil {
					j.states = append(j.states, state)
				}
			}
		}
	}
}

// ids are the members of a list, set or sorted set of the queue.
func (q *queue) ids(suffix string) []string {
	e := q.own[suffix]
	out := slices.Concat(e.List, e.Set)
	for _, m := range e.Sorted {
		out = append(out, m.Name)
	}
	return out
}

func (a *auditor) sortKey(q *queue, key string) {
	suffix, e := strings.TrimPrefix(key, q.base), a.state[key]
	if typ, ok := ownTypes[suffix]; ok {
		a.typed(key, e, typ)
		q.own[suffix] = e
		return
	}
	head, rest, _ := strings.Cut(suffix, ":")
	i := strings.LastIndexByte(suffix, ':')
	switch {
	case head == "gen": // ours alone
	case head == "de" && rest != "":
		a.typed(key, e, "string")
		q.held[rest] = e
	case head == "dn" && rest != "":
		a.typed(key, e, "hash")
		q.next[rest] = e
	case head == "repeat" && slices.Contains(q.scheduled(a), rest):
		a.typed(key, e, "hash")
		q.sched[rest] = e
	case i > 0 && partTypes[suffix[i+1:]] != "":
		a.typed(key, e, partTypes[suffix[i+1:]])
		id := suffix[:i]
		if q.parts[id] == nil {
			q.parts[id] = map[string]vectors.Entry{}
		}
		q.parts[id][suffix[i+1:]] = e
	case e.Type == "hash":
		q.jobs[suffix] = &job{id: suffix, key: key, fields: e.Hash}
	default:
		a.report(RuleKey, key, "is no key that a queue has, a %s", e.Type)
	}
}

// scheduled are the ids of the queue's schedulers. Keys are sorted by name, and
// "repeat" comes before "repeat:...".
func (q *queue) scheduled(a *auditor) []string {
	var ids []string
	for _, m := range a.state[q.base+"repeat"].Sorted {
		ids = append(ids, m.Name)
	}
	return ids
}

func (a *auditor) typed(key string, e vectors.Entry, want string) {
	if e.Type != want {
		a.report(RuleKey, key, "is a %s, it should be a %s", e.Type, want)
	}
}

// orphans reports what is left of jobs that do not exist.
func (a *auditor) orphans(q *queue) {
	for _, id := range slices.Sorted(maps.Keys(q.parts)) {
		for _, part := range slices.Sorted(maps.Keys(q.parts[id])) {
			if q.jobs[id] == nil {
				a.report(RuleOrphan, q.base+id+":"+part, "belongs to job %q, which does not exist", id)
			}
		}
	}
}
