package interop

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
)

// world is a state of both databases, that began empty.
type world struct {
	*bench
	clock  int64
	held   map[string]string // the worker that holds a job, by queue and id
	played []call
	state  vectors.Keyspace // of Node's database
}

// firstMoment is when all worlds begin.
const firstMoment int64 = 1_800_000_000_000

// unusual is a time to live that no operation gives.
const unusual = 3 * ttlStep * time.Millisecond

// thief is the token of a worker that nobody knows.
const thief = "thief"

// world empties both databases and sets both clocks.
func (b *bench) world() *world {
	b.Helper()
	w := &world{bench: b, clock: firstMoment, held: map[string]string{}}
	for _, s := range b.sides {
		require.NoError(b, s.rdb.FlushDB(b.ctx).Err())
		for _, q := range []string{mainQueue, kidsQueue} {
			require.NoError(b, s.rdb.HSet(b.ctx, "bull:"+q+":meta", "opts.maxLenEvents", 10000, "version", "bullmq:"+b.lib.Version).Err())
		}
		require.NoError(b, s.peer.Call(b.ctx, "clock.set", Args{"ms": w.clock}, nil))
	}
	var err error
	w.state, err = vectors.Snapshot(b.ctx, b.sides[0].rdb)
	require.NoError(b, err)
	return w
}

// step does one operation on both sides, and says in which ways they differ.
func (w *world) step(c call) []string {
	w.Helper()
	w.played = append(w.played, c)
	diff := w.do(c)
	var states [2]vectors.Keyspace
	w.both(func(i int, s *side) error {
		state, err := vectors.Snapshot(w.ctx, s.rdb)
		maps.DeleteFunc(state, func(key string, _ vectors.Entry) bool { return strings.Contains(key, ":gen:") }) // ours alone
		states[i] = state
		return err
	})
	before := w.state
	w.state = states[0]
	w.reorder(c, before, states)
	alike(states[0], states[1])
	w.still(states[0])
	w.moreAwake(c, states)
	w.delayEnded(c, before, states)
	return append(diff, vectors.Diff(states[0], states[1])...)
}

// moreAwake lets an operation wake a worker here that wakes none in Node, where
// that is meant: Node's side then gets the marker too, so that what follows is
// the same for both.
func (w *world) moreAwake(c call, states [2]vectors.Keyspace) {
	w.Helper()
	if wakesMore[c.Op] == nil || !wakesMore[c.Op](w, c) {
		return
	}
	for _, q := range []string{mainQueue, kidsQueue} {
		key := "bull:" + q + ":marker"
		want, have := states[0][key], states[1][key]
		for _, m := range have.Sorted {
			at := slices.IndexFunc(want.Sorted, func(other vectors.Member) bool { return other.Name == m.Name })
			if at >= 0 && (m.Name == "0" || m.Score != w.due(q)) {
				continue
			}
			require.NoError(w, w.sides[0].rdb.ZAdd(w.ctx, key, redis.Z{Member: m.Name, Score: m.Score}).Err())
			if at >= 0 { // one of a time that has passed
				want.Sorted = slices.Delete(slices.Clone(want.Sorted), at, at+1)
			}
			want.Type, want.Sorted = "zset", append(want.Sorted, m)
			slices.SortFunc(want.Sorted, func(x, y vectors.Member) int { return cmp.Compare(x.Score, y.Score) })
			states[0][key] = want
		}
	}
}

// delayEnded takes the delay from jobs that Node promoted in bulk: here it ends,
// as it does for one that is promoted by itself.
func (w *world) delayEnded(c call, before vectors.Keyspace, states [2]vectors.Keyspace) {
	w.Helper()
	if c.Op != "queue.promoteJobs" {
		return
	}
	waiting := w.ids(c.Args["queue"].(string), "wait", "paused")
	for _, m := range before[fmt.Sprintf("bull:%s:delayed", c.Args["queue"])].Sorted {
		if key := fmt.Sprintf("bull:%s:%s", c.Args["queue"], m.Name); slices.Contains(waiting, m.Name) {
			require.NoError(w, w.sides[0].rdb.HSet(w.ctx, key, "delay", "0").Err())
			states[0][key].Hash["delay"] = "0"
		}
	}
}

// reorder gives Node's side our order, where an operation goes through a set and
// both came to the same but for that.
func (w *world) reorder(c call, before vectors.Keyspace, states [2]vectors.Keyspace) {
	w.Helper()
	for _, suffix := range inAnyOrder[c.Op] {
		for _, q := range []string{mainQueue, kidsQueue} {
			key := "bull:" + q + ":" + suffix
			old, want, have := before[key], states[0][key], states[1][key]
			if want.Type != have.Type || !permuted(want.List, have.List, 0) && !permuted(eventTexts(want), eventTexts(have), len(old.Stream)) {
				continue
			}
			_, err := w.sides[0].rdb.Pipelined(w.ctx, func(p redis.Pipeliner) error {
				p.Del(w.ctx, key)
				for _, id := range have.List {
					p.RPush(w.ctx, key, id)
				}
				for _, e := range have.Stream {
					p.XAdd(w.ctx, &redis.XAddArgs{Stream: key, Values: e.Fields})
				}
				return nil
			})
			require.NoError(w, err)
			states[0][key] = have
		}
	}
}

// permuted reports whether two lists have the same elements from some place on,
// in another order.
func permuted(a, b []string, from int) bool {
	if len(a) != len(b) || len(a) < from {
		return false
	}
	a, b = a[from:], b[from:]
	return !slices.Equal(a, b) && slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// eventTexts are the entries of a stream as texts.
func eventTexts(e vectors.Entry) []string {
	out := make([]string, len(e.Stream))
	for i := range e.Stream {
		out[i] = show(e.Stream[i].Fields)
	}
	return out
}

// due is when the first delayed job of a queue becomes due.
func (w *world) due(queue string) float64 {
	delayed := w.state["bull:"+queue+":delayed"].Sorted
	if len(delayed) == 0 {
		return 0
	}
	return delayed[0].Score / 4096
}

// both does something on both sides at once.
func (w *world) both(f func(int, *side) error) {
	w.Helper()
	var all sync.WaitGroup
	var errs [2]error
	for i, s := range w.sides {
		all.Go(func() { errs[i] = f(i, s) })
	}
	all.Wait()
	require.NoError(w, errors.Join(errs[:]...))
}

// do does the operation and compares the answers.
func (w *world) do(c call) []string {
	w.Helper()
	switch c.Op {
	case "clock":
		w.clock += int64(c.Args["forward"].(int))
		w.both(func(_ int, s *side) error { return s.peer.Call(w.ctx, "clock.set", Args{"ms": w.clock}, nil) })
		return nil
	case "wake": // as a worker does that waits for work
		key := fmt.Sprintf("bull:%s:marker", c.Args["queue"])
		w.both(func(_ int, s *side) error { return s.rdb.ZPopMin(w.ctx, key).Err() })
		return nil
	case "burn":
		key := fmt.Sprintf("bull:%s:id", c.Args["queue"])
		w.both(func(_ int, s *side) error { return s.rdb.IncrBy(w.ctx, key, int64(c.Args["numbers"].(int))).Err() })
		return nil
	case "expire":
		w.both(func(_ int, s *side) error { return s.rdb.Del(w.ctx, c.Args["key"].(string)).Err() })
		return nil
	case "prolong":
		w.both(func(_ int, s *side) error { return s.rdb.PExpire(w.ctx, c.Args["key"].(string), unusual).Err() })
		return nil
	case "steal":
		w.both(func(_ int, s *side) error {
			return s.rdb.SetXX(w.ctx, c.Args["key"].(string), thief, redis.KeepTTL).Err()
		})
		return nil
	case "lose":
		key := fmt.Sprintf("bull:%s:%s", c.Args["queue"], c.Args["id"])
		w.both(func(_ int, s *side) error {
			_, err := s.rdb.Pipelined(w.ctx, func(p redis.Pipeliner) error {
				p.HSet(w.ctx, key, "name", "lost", "data", "{}", "opts", "{}", "timestamp", firstMoment)
				p.RPush(w.ctx, key+":logs", "line")
				return nil
			})
			return err
		})
		return nil
	}
	var answers [2]json.RawMessage
	var refused [2]*Error
	w.both(func(i int, s *side) error {
		err := s.peer.Call(w.ctx, c.Op, c.Args, &answers[i])
		if IsNotOffered(err) || !errors.As(err, &refused[i]) {
			return err
		}
		return nil
	})
	w.book(c, answers[0], refused[0])
	if c.Op == "queue.obliterate" && refused[0] == nil && refused[1] == nil {
		w.nothingLeft(fmt.Sprintf("bull:%s:", c.Args["queue"]))
	}
	return w.diffAnswers(c.Op, answers, refused)
}

// nothingLeft requires that our side left no key below a base, and removes
// those that Node leaves: an obliterated queue is gone here.
func (w *world) nothingLeft(base string) {
	w.Helper()
	w.both(func(i int, s *side) error {
		keys, err := s.rdb.Keys(w.ctx, base+"*").Result()
		if err != nil || len(keys) == 0 {
			return err
		}
		if i == 1 {
			return fmt.Errorf("keys are left of an obliterated queue: %q", keys)
		}
		return s.rdb.Del(w.ctx, keys...).Err()
	})
}

// book notes which jobs are held.
func (w *world) book(c call, answer json.RawMessage, refused *Error) {
	if refused != nil {
		return
	}
	switch c.Op {
	case "worker.getNextJob":
		var job *Job
		if json.Unmarshal(answer, &job) == nil && job != nil {
			worker := c.Args["worker"].(string)
			w.held[benchWorkers[worker].queue+"/"+job.ID] = worker
		}
	case "worker.moveToWaitingChildren":
		if string(answer) == "true" {
			delete(w.held, heldKey(c))
		}
	case "worker.moveToCompleted", "worker.moveToFailed":
		delete(w.held, heldKey(c))
		var next *Job
		if c.Args["next"] == true && json.Unmarshal(answer, &next) == nil && next != nil {
			w.held[fmt.Sprint(c.Args["queue"], "/", next.ID)] = c.Args["worker"].(string)
		}
	case "worker.moveToDelayed", "worker.moveToWait", "worker.forget":
		delete(w.held, heldKey(c))
	}
}

func heldKey(c call) string { return fmt.Sprint(c.Args["queue"], "/", c.Args["id"]) }

// diffAnswers compares what both sides answered.
func (w *world) diffAnswers(op string, answers [2]json.RawMessage, refused [2]*Error) []string {
	a, b := refused[0], refused[1]
	switch {
	case a != nil && a.Name == "NoJob":
		return nil // the library was not asked; that nothing is changed is compared
	case a != nil && b != nil:
		if a.Code != 0 && b.Code != 0 && a.Code != b.Code {
			return []string{fmt.Sprintf("%s is refused for different reasons:\n      %v (%d)\n      %v (%d)", op, a, a.Code, b, b.Code)}
		}
		return nil
	case a != nil:
		return []string{fmt.Sprintf("only Node refuses %s: %v", op, a)}
	case b != nil:
		return []string{fmt.Sprintf("only Go refuses %s: %v", op, b)}
	}
	view := answerViews[op]
	if v := answerViews5[op]; v != nil && w.lib == Node5 {
		view = v
	}
	if view == nil {
		view = asItIs
	}
	x, errX := view(answers[0])
	y, errY := view(answers[1])
	if errX != nil || errY != nil {
		return []string{fmt.Sprintf("answers to %s: %v, %v", op, errX, errY)}
	}
	if !reflect.DeepEqual(x, y) {
		return []string{fmt.Sprintf("different answers to %s:\n      want %s\n      have %s", op, show(x), show(y))}
	}
	return nil
}

func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// answerViews are what is compared of answers that are not compared as they are.
var answerViews = map[string]func(json.RawMessage) (any, error){
	"queue.add":                addedIDs,
	"queue.addBulk":            addedIDs,
	"queue.removeRateLimitKey": ignored, // Node tells whether there was one
	"queue.getRateLimitTtl":    remaining,
	"queue.getJob":             wholeJobs,
	"queue.getJobs":            wholeJobs,
	"queue.getWaiting":         wholeJobs,
	"queue.getWaitingChildren": wholeJobs,
	"queue.getActive":          wholeJobs,
	"queue.getDelayed":         wholeJobs,
	"queue.getPrioritized":     wholeJobs,
	"queue.getCompleted":       wholeJobs,
	"queue.getFailed":          wholeJobs,
	"worker.getNextJob":        wholeJobs,
	"worker.moveToCompleted":   wholeJobs,
	"worker.moveToFailed":      wholeJobs,
	"flow.add":                 flowIDs,
	"scheduler.upsert":         addedIDs,
	"flow.addBulk":             flowIDs,
	"flow.getFlow":             wholeFlow,
	"job.getDependencies":      unordered,
}

func asItIs(text json.RawMessage) (v any, err error) {
	err = json.Unmarshal(text, &v)
	return v, err
}

func ignored(json.RawMessage) (any, error) { return nil, nil }

// jobsOf reads a job or a list of jobs; null is none.
func jobsOf(text json.RawMessage) (jobs []*Job, err error) {
	if len(text) > 0 && text[0] != '[' {
		text = slices.Concat([]byte("["), text, []byte("]"))
	}
	err = json.Unmarshal(text, &jobs)
	return jobs, err
}

func addedIDs(text json.RawMessage) (any, error) {
	jobs, err := jobsOf(text)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(jobs))
	for i, j := range jobs {
		if j != nil {
			ids[i] = j.ID
		}
	}
	return ids, nil
}

// flowIDs are the ids of the roots: Node answers with what it was given.
func flowIDs(text json.RawMessage) (any, error) {
	if len(text) > 0 && text[0] != '[' {
		text = slices.Concat([]byte("["), text, []byte("]"))
	}
	var flows []Flow
	err := json.Unmarshal(text, &flows)
	ids := make([]string, len(flows))
	for i, f := range flows {
		ids[i] = f.Job.ID
	}
	return ids, err
}

// wholeJobs are jobs with all that a peer reads of them, JSON as values.
func wholeJobs(text json.RawMessage) (any, error) {
	jobs, err := jobsOf(text)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(jobs))
	for i, j := range jobs {
		if j == nil {
			continue
		}
		b, err := json.Marshal(j) // absent and zero are the same now
		if err != nil {
			return nil, err
		}
		if out[i], err = asItIs(b); err != nil {
			return nil, err
		}
		if opts, ok := out[i].(map[string]any)["opts"].(map[string]any); ok {
			delete(opts, "repeatJobKey") // Node shows it beside the options only
			if opts["delay"] == 0. {
				delete(opts, "delay")
			}
		}
	}
	return out, nil
}

// wholeFlow is a tree of jobs as wholeJobs has them, in the order of their keys.
// Children that are gone have no name, or are null.
func wholeFlow(text json.RawMessage) (any, error) {
	var tree struct {
		Queue    string
		Job      json.RawMessage
		Children []json.RawMessage
	}
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	var named struct{ Name string }
	if len(tree.Job) == 0 || json.Unmarshal(tree.Job, &named) == nil && named.Name == "" {
		return nil, nil
	}
	job, err := wholeJobs(tree.Job)
	if err != nil {
		return nil, err
	}
	var children []any
	for _, c := range tree.Children {
		child, err := wholeFlow(c)
		if err != nil {
			return nil, err
		}
		if child != nil {
			children = append(children, child)
		}
	}
	slices.SortFunc(children, func(x, y any) int { return strings.Compare(show(x), show(y)) })
	return []any{tree.Queue, job, children}, nil
}

// remaining tells only whether a time is left: it runs while it is read.
func remaining(text json.RawMessage) (any, error) {
	var ms float64
	err := json.Unmarshal(text, &ms)
	return ms > 0, err
}

// unordered sorts lists that come from sets.
func unordered(text json.RawMessage) (any, error) {
	var m map[string]any
	err := json.Unmarshal(text, &m)
	for k, v := range m {
		if list, ok := v.([]any); ok {
			slices.SortFunc(list, func(x, y any) int { return strings.Compare(fmt.Sprint(x), fmt.Sprint(y)) })
			m[k] = list
		}
	}
	return m, err
}

// alike makes equal what may differ: the tokens of locks, which each side makes
// itself, and the remaining times of keys, which run while they are read.
func alike(want, got vectors.Keyspace) {
	for key, e := range want {
		other, ok := got[key]
		if !ok {
			continue
		}
		if strings.HasSuffix(key, ":lock") {
			other.Text = e.Text
		}
		if e.TTL != nil && other.TTL != nil && max(*e.TTL-*other.TTL, *other.TTL-*e.TTL) < ttlStep/2 {
			latest := max(*e.TTL, *other.TTL)
			*e.TTL, other.TTL = latest, e.TTL
		}
		got[key] = other
	}
}

// still sets keys whose time runs out back to the time that was meant, on both
// sides.
func (w *world) still(state vectors.Keyspace) {
	for key, e := range state {
		if e.TTL == nil {
			continue
		}
		meant := (*e.TTL + ttlStep - 1) / ttlStep * ttlStep
		if meant-*e.TTL < 1000 {
			continue
		}
		w.both(func(_ int, s *side) error {
			return s.rdb.PExpire(w.ctx, key, time.Duration(meant)*time.Millisecond).Err()
		})
	}
}

// ids are the jobs of a queue in some states, of Node's database.
func (w *world) ids(queue string, states ...string) []string {
	var out []string
	for _, s := range states {
		e := w.state["bull:"+queue+":"+s]
		out = append(out, e.List...)
		for _, m := range e.Sorted {
			out = append(out, m.Name)
		}
	}
	return out
}

// allStates are the lists and sets that hold jobs.
var allStates = []string{"wait", "paused", "active", "delayed", "prioritized", "completed", "failed", "waiting-children"}

// job is the stored hash of a job, nil when there is none.
func (w *world) job(queue, id string) map[string]string { return w.state["bull:"+queue+":"+id].Hash }

// children are the keys of all children that a job knows, whatever became of them.
func (w *world) children(key string) []string {
	return slices.Concat(
		w.state[key+":dependencies"].Set,
		slices.Sorted(maps.Keys(w.state[key+":processed"].Hash)),
		slices.Sorted(maps.Keys(w.state[key+":failed"].Hash)),
		memberNames(w.state[key+":unsuccessful"].Sorted),
	)
}

func memberNames(members []vectors.Member) []string {
	out := make([]string, len(members))
	for i, m := range members {
		out[i] = m.Name
	}
	return out
}
