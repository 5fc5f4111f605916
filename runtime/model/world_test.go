package model

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// world is what the model knows: queues, and the time.
type world struct {
	now    int64 // ms
	queues map[string]*queue
}

func newWorld(names ...string) *world {
	w := &world{now: 1700000000000, queues: map[string]*queue{}}
	for _, name := range names {
		w.queues[name] = newQueue(w, name)
	}
	return w
}

// queue is a queue as the model sees it.
type queue struct {
	*world
	name string
	jobs map[string]*job

	wait                                           []string // the next to run first
	active                                         []string // the one taken first, first
	prioritized, delayed, parents, completed, lost ordered

	lastID, places int // the counters of ids and of places among the prioritized

	paused      bool
	concurrency int
	limit       bullmq.RateLimit
	used        int64 // of the rate limit in force, which ends at `until`
	until       int64

	held map[string]holder  // by deduplication id
	next map[string]request // a job that is kept to follow the holder's
	mark map[string]bool    // active jobs that are looked at by the next check for stalled ones
	done map[bullmq.State]int
}

func newQueue(w *world, name string) *queue {
	return &queue{
		world: w, name: name, jobs: map[string]*job{},
		prioritized: ordered{}, delayed: ordered{}, parents: ordered{}, completed: ordered{}, lost: ordered{},
		held: map[string]holder{}, next: map[string]request{}, mark: map[string]bool{}, done: map[bullmq.State]int{},
	}
}

// holder holds a deduplication id; until 0: until its job is done.
type holder struct {
	id    string
	until int64
}

// job is a job as the model sees it.
type job struct {
	request
	id                   string
	timestamp            int64
	made, starts, stalls int
	begun, ended         int64 // ms; 0: not
	by                   string
	result, reason       string
	deferred             string // why it is to be failed
	token                string // that it is locked with

	pending   map[string]bool // children by key
	processed map[string]string
	ignored   map[string]string
	lost      map[string]bool // those that make it fail
}

// request is what a job is added with.
type request struct {
	n                  int // its payload
	id                 string
	delay              int64 // ms
	priority           int
	lifo               bool
	attempts           int
	backoff            int64 // ms
	keepDone, keepLost *bullmq.Retention
	dedup              *bullmq.Dedup
	parent             string // its key
	onFail             bullmq.OnFail
}

// deid is the deduplication id that the job was added with, or empty.
func (r *request) deid() string {
	if r.dedup == nil {
		return ""
	}
	return r.dedup.ID
}

func (q *queue) key(id string) string { return q.name + ":" + id }

// find finds a job by its key.
func (w *world) find(key string) (*queue, *job) {
	for name, q := range w.queues {
		if len(key) > len(name) && key[:len(name)+1] == name+":" {
			return q, q.jobs[key[len(name)+1:]]
		}
	}
	return nil, nil
}

// ordered are members with scores. Those of equal score stand in the order of
// their names.
type ordered map[string]float64

func (o ordered) list() []string {
	return slices.SortedFunc(maps.Keys(o), func(a, b string) int {
		return cmp.Or(cmp.Compare(o[a], o[b]), cmp.Compare(a, b))
	})
}

// take removes a member, and reports whether it was there.
func (o ordered) take(id string) bool {
	_, ok := o[id]
	delete(o, id)
	return ok
}

func takeFrom(list *[]string, id string) bool {
	i := slices.Index(*list, id)
	if i < 0 {
		return false
	}
	*list = slices.Delete(slices.Clone(*list), i, i+1)
	return true
}

// back and front put a job behind the waiting ones, or before them.
func (q *queue) back(id string)  { q.wait = append(slices.Clone(q.wait), id) }
func (q *queue) front(id string) { q.wait = append([]string{id}, q.wait...) }

// state is where a job is.
func (q *queue) state(id string) bullmq.State {
	for _, s := range states {
		if slices.Contains(q.list(s), id) {
			return s
		}
	}
	return bullmq.StateUnknown
}

var states = []bullmq.State{
	bullmq.StateWaiting, bullmq.StateActive, bullmq.StatePrioritized, bullmq.StateDelayed,
	bullmq.StateWaitingChildren, bullmq.StateCompleted, bullmq.StateFailed,
}

// list are the jobs of a state, in order.
func (q *queue) list(s bullmq.State) []string {
	switch s {
	case bullmq.StateWaiting:
		return q.wait
	case bullmq.StateActive:
		return q.active
	}
	return q.set(s).list()
}

func (q *queue) set(s bullmq.State) ordered {
	switch s {
	case bullmq.StatePrioritized:
		return q.prioritized
	case bullmq.StateDelayed:
		return q.delayed
	case bullmq.StateWaitingChildren:
		return q.parents
	case bullmq.StateCompleted:
		return q.completed
	case bullmq.StateFailed:
		return q.lost
	}
	return nil
}

// takeOut takes a job out of whatever state it is in.
func (q *queue) takeOut(id string) {
	takeFrom(&q.wait, id)
	takeFrom(&q.active, id)
	for _, s := range states {
		if o := q.set(s); o != nil {
			o.take(id)
		}
	}
}

const (
	perPriority = 1 << 32
	perMilli    = 4096
)

// makeWait puts a job where its priority wants it.
func (q *queue) makeWait(j *job, first bool) {
	switch {
	case j.priority > 0:
		q.places++
		q.prioritized[j.id] = float64(j.priority)*perPriority + float64(q.places)
	case first:
		q.front(j.id)
	default:
		q.back(j.id)
	}
}

// makeLater delays a job until a time, behind those that are due in the same millisecond.
func (q *queue) makeLater(id string, due int64) {
	score := float64(due * perMilli)
	for _, s := range q.delayed {
		if s >= score && s < float64((due+1)*perMilli) {
			score = s + 1
		}
	}
	q.delayed[id] = score
}

// promote makes jobs that are due wait.
func (q *queue) promote() {
	for _, id := range q.delayed.list() {
		if q.delayed[id] >= float64((q.now+1)*perMilli) {
			return
		}
		q.delayed.take(id)
		j := q.jobs[id]
		j.delay = 0
		q.makeWait(j, false)
	}
}

// nextID counts on.
func (q *queue) nextID() string {
	q.lastID++
	return strconv.Itoa(q.lastID)
}
