package interop

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
)

// generator makes up operations that fit a world, most of the time.
type generator struct {
	r     *rand.Rand
	w     *world
	nodes int // how many ids were made for jobs of flows
}

// choice is a kind of operation, and how often it is to be chosen. It makes up
// nothing (an empty Op) when there is nothing that it could be done to.
type choice struct {
	weight int
	make   func(*generator) call
}

var choices = []choice{
	{22, (*generator).add},
	{2, (*generator).addBulk},
	{4, (*generator).flow},
	{4, (*generator).schedule},
	{44, (*generator).take},
	{50, (*generator).finish},
	{2, (*generator).extend},
	{16, (*generator).wake},
	{10, (*generator).pass},
	{4, (*generator).expire},
	{2, (*generator).prolong},
	{1, (*generator).steal},
	{3, (*generator).stalled},
	{5, (*generator).retry},
	{2, (*generator).retryAll},
	{4, (*generator).promote},
	{2, (*generator).promoteAll},
	{4, (*generator).change},
	{4, (*generator).patch},
	{6, (*generator).remove},
	{5, (*generator).unlink},
	{2, (*generator).pause},
	{6, (*generator).sweep},
	{1, (*generator).lose},
	{3, (*generator).settings},
	{1, (*generator).publish},
	{18, (*generator).read},
}

// next makes up an operation.
func (g *generator) next() call {
	sum := 0
	for _, c := range choices {
		sum += c.weight
	}
	for {
		n := g.r.IntN(sum)
		for _, c := range choices {
			if n -= c.weight; n >= 0 {
				continue
			}
			if made := c.make(g); made.Op != "" {
				return made
			}
			break
		}
	}
}

func pick[T any](g *generator, from ...T) T { return from[g.r.IntN(len(from))] }

// chance is true once in n times.
func (g *generator) chance(n int) bool { return g.r.IntN(n) == 0 }

// some returns one of a list; false: it is empty.
func some(g *generator, list []string) (string, bool) {
	if len(list) == 0 {
		return "", false
	}
	return pick(g, list...), true
}

// queue is the main one, most of the time.
func (g *generator) queue() string {
	if g.chance(4) {
		return kidsQueue
	}
	return mainQueue
}

// about makes up an operation on a job in one of some states, and once in a
// while on another one, or on none.
func (g *generator) about(op string, args Args, states ...string) call {
	q := g.queue()
	if g.chance(12) {
		states = allStates
	}
	id, ok := some(g, g.w.ids(q, states...))
	if g.chance(40) {
		id, ok = "nobody", true
	}
	if !ok {
		return call{}
	}
	all := Args{"queue": q, "id": id}
	for k, v := range args {
		all[k] = v
	}
	return call{op, all}
}

func (g *generator) take() call {
	return call{"worker.getNextJob", Args{"worker": pick(g, "plain", "plain", "limited", "kids")}}
}

// wake takes a marker, so that the next one that is written is seen.
func (g *generator) wake() call {
	q := g.queue()
	if _, there := g.w.state["bull:"+q+":marker"]; !there {
		return call{}
	}
	return call{"wake", Args{"queue": q}}
}

// holding is a held job; false: there is none. Once in a while it is one that
// was removed, or taken back, while it was held.
func (g *generator) holding() (Args, bool) {
	var here, gone []string
	for key := range g.w.held {
		q, id, _ := strings.Cut(key, "/")
		if slices.Contains(g.w.ids(q, "active"), id) {
			here = append(here, key)
		} else {
			gone = append(gone, key)
		}
	}
	slices.Sort(here) // maps have no order: what is picked must follow from the seed alone
	slices.Sort(gone)
	if len(here) == 0 || g.chance(10) {
		here = append(here, gone...)
	}
	key, ok := some(g, here)
	q, id, _ := strings.Cut(key, "/")
	return Args{"queue": q, "id": id}, ok
}

func (g *generator) finish() call {
	args, ok := g.holding()
	if !ok {
		return call{}
	}
	worker := g.w.held[fmt.Sprint(args["queue"], "/", args["id"])]
	switch g.r.IntN(16) {
	case 13, 14:
		args["value"], args["next"], args["worker"] = g.value(), true, worker
		return call{"worker.moveToCompleted", args}
	case 15: // for good: where a job is retried Node takes no other
		args["message"], args["unrecoverable"], args["next"], args["worker"] = "hopeless", true, true, worker
		return call{"worker.moveToFailed", args}
	case 0, 1, 2, 3:
		args["value"] = g.value()
		return call{"worker.moveToCompleted", args}
	case 4, 5, 6:
		args["message"] = pick(g, "boom", "\"quoted\" é", "{}", "two\nlines 😀")
		return call{"worker.moveToFailed", args}
	case 7, 8:
		args["message"], args["unrecoverable"] = "hopeless", true
		return call{"worker.moveToFailed", args}
	case 9:
		args["timestamp"] = g.w.clock + int64(pick(g, -5, 0, 1, 700, 5000))
		return call{"worker.moveToDelayed", args}
	case 10:
		return call{"worker.moveToWait", args}
	case 11:
		return call{"worker.moveToWaitingChildren", args}
	}
	return call{"worker.forget", args}
}

func (g *generator) extend() call {
	args, ok := g.holding()
	if !ok {
		return call{}
	}
	args["duration"] = ttlStep
	return call{"worker.extendLock", args}
}

// pass lets time pass.
func (g *generator) pass() call {
	return call{"clock", Args{"forward": pick(g, 1, 1, 30, 699, 700, 1000, 5000, 59_999, 60_000, 700_000)}}
}

// expire lets a key run out that the servers would expire by their own clock.
func (g *generator) expire() call {
	key, ok := some(g, g.keys(func(_ string, e vectors.Entry) bool { return e.TTL != nil }))
	if !ok {
		return call{}
	}
	return call{"expire", Args{"key": key}}
}

// prolong gives such a key a time to live that no operation gives, so that the
// next one that sets it is seen.
func (g *generator) prolong() call {
	key, ok := some(g, g.keys(func(_ string, e vectors.Entry) bool { return e.TTL != nil }))
	if !ok {
		return call{}
	}
	return call{"prolong", Args{"key": key}}
}

// steal gives a job to a worker that nobody knows.
func (g *generator) steal() call {
	key, ok := some(g, g.keys(func(key string, _ vectors.Entry) bool { return strings.HasSuffix(key, ":lock") }))
	if !ok {
		return call{}
	}
	return call{"steal", Args{"key": key}}
}

// keys are the keys of some entries, sorted: what is picked follows from the
// seed alone.
func (g *generator) keys(of func(string, vectors.Entry) bool) []string {
	var keys []string
	for key, e := range g.w.state {
		if of(key, e) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (g *generator) stalled() call {
	return call{"worker.stalledCheck", Args{"worker": pick(g, "plain", "plain", "kids")}}
}

func (g *generator) retry() call {
	state := pick(g, "failed", "failed", "completed")
	return g.about("job.retry", Args{
		"state": state, "opts": Args{"resetAttemptsMade": g.chance(3), "resetAttemptsStarted": g.chance(3)},
	}, state)
}

func (g *generator) retryAll() call {
	opts := Args{"state": pick(g, "failed", "completed")}
	if g.chance(2) {
		opts["count"] = g.r.IntN(3) + 1
	}
	if g.chance(3) {
		opts["timestamp"] = g.w.clock - int64(pick(g, 0, 1, 1000, 60_000))
	}
	return call{"queue.retryJobs", Args{"queue": g.queue(), "opts": opts}}
}

func (g *generator) promote() call { return g.about("job.promote", nil, "delayed") }

func (g *generator) promoteAll() call {
	opts := Args{}
	if g.chance(2) {
		opts["count"] = g.r.IntN(3) + 1
	}
	return call{"queue.promoteJobs", Args{"queue": g.queue(), "opts": opts}}
}

func (g *generator) change() call {
	if g.chance(2) {
		return g.about("job.changeDelay", Args{"delay": pick(g, 0, 1, 700, 5000)}, "delayed")
	}
	opts := Args{"priority": pick(g, 0, 0, 1, 2, 5), "lifo": g.chance(3)}
	return g.about("job.changePriority", Args{"opts": opts}, "wait", "prioritized", "delayed", "active")
}

func (g *generator) patch() call {
	switch g.r.IntN(4) {
	case 0:
		return g.about("job.updateData", Args{"data": g.value()}, allStates...)
	case 1:
		progress := g.value()
		if progress == nil {
			progress = 7 // Node reads a stored null as no progress
		}
		return g.about(pick(g, "job.updateProgress", "queue.updateJobProgress"), Args{"progress": progress}, allStates...)
	case 2:
		line := Args{"line": pick(g, "one", "two", "")}
		if g.chance(2) {
			line["keepLogs"] = g.r.IntN(3)
			return g.about("queue.addJobLog", line, allStates...)
		}
		return g.about("job.log", line, allStates...)
	}
	return g.about("job.clearLogs", Args{"keepLogs": g.r.IntN(3)}, allStates...)
}

func (g *generator) remove() call {
	opts := Args{"removeChildren": !g.chance(3)}
	return g.about(pick(g, "job.remove", "queue.remove"), Args{"opts": opts}, allStates...)
}

func (g *generator) unlink() call {
	switch g.r.IntN(6) {
	case 0, 1:
		return g.about("job.removeDeduplicationKey", nil, allStates...)
	case 2:
		return call{"queue.removeDeduplicationKey", Args{"queue": g.queue(), "dedupId": pick(g, dedupIDs...)}}
	}
	parent, child, ok := g.relatives()
	if !ok {
		return call{}
	}
	if g.chance(2) {
		return call{"job.removeUnprocessedChildren", parent}
	}
	return call{"job.removeChildDependency", child}
}

// relatives are a job with a parent, and that parent; false: there are none.
func (g *generator) relatives() (parent, child Args, ok bool) {
	q := g.queue()
	var ids []string
	for _, id := range g.w.ids(q, allStates...) {
		if g.w.job(q, id)["parentKey"] != "" {
			ids = append(ids, id)
		}
	}
	id, ok := some(g, ids)
	if !ok {
		return nil, nil, false
	}
	parts := strings.Split(g.w.job(q, id)["parentKey"], ":")
	return Args{"queue": parts[1], "id": parts[2]}, Args{"queue": q, "id": id}, true
}

func (g *generator) pause() call {
	q := g.queue()
	if _, paused := g.w.state["bull:"+q+":meta"].Hash["paused"]; paused && !g.chance(4) {
		return call{"queue.resume", Args{"queue": q}}
	}
	return call{pick(g, "queue.pause", "queue.pause", "queue.resume"), Args{"queue": q}}
}

// sweep removes many jobs at once.
func (g *generator) sweep() call {
	q := g.queue()
	switch g.r.IntN(8) {
	case 0:
		return call{"queue.drain", Args{"queue": q, "delayed": g.chance(2)}}
	case 1:
		return call{"queue.obliterate", Args{"queue": q, "opts": Args{"force": g.chance(2), "count": pick(g, 1, 2, 1000)}}}
	case 2:
		// All keys in one page: there is no order among them.
		return call{"queue.removeOrphanedJobs", Args{"queue": q, "count": 10_000, "limit": g.r.IntN(3)}}
	}
	return call{"queue.clean", Args{
		"queue": q, "grace": pick(g, 0, 0, 1000, 60_000), "limit": pick(g, 0, 1, 2, 3),
		"type": pick(g, "completed", "failed", "wait", "active", "delayed", "prioritized", "paused"),
	}}
}

// lose leaves a job in no state, as a program does that is cut off.
func (g *generator) lose() call {
	return call{"lose", Args{"queue": g.queue(), "id": pick(g, "lost1", "lost2")}}
}

func (g *generator) publish() call {
	return call{"queue.publishEvent", Args{
		"queue": g.queue(), "name": pick(g, "mine", "é"), "fields": Args{"n": g.r.IntN(3), "text": pick(g, "", "😀")}, "maxEvents": 1000,
	}}
}

func (g *generator) settings() call {
	q := g.queue()
	switch g.r.IntN(8) {
	case 0, 1:
		return call{"queue.setGlobalConcurrency", Args{"queue": q, "concurrency": g.r.IntN(4) + 1}}
	case 2, 3:
		return call{"queue.removeGlobalConcurrency", Args{"queue": q}}
	case 4:
		return call{"queue.setGlobalRateLimit", Args{"queue": q, "max": g.r.IntN(4) + 1, "duration": 4 * ttlStep}}
	case 5:
		return call{"queue.removeGlobalRateLimit", Args{"queue": q}}
	case 6:
		return call{"queue.rateLimit", Args{"queue": q, "ms": ttlStep}}
	}
	return call{"queue.removeRateLimitKey", Args{"queue": q}}
}

// value is some JSON value.
func (g *generator) value() any {
	return pick[any](g, nil, true, 0, 42, 1.5, "", "é\n", "<&> 😀\u2028", 1e21, []any{}, []any{1, nil}, Args{}, Args{"a": Args{"b": 1}}, fmt.Sprint(g.r.IntN(100)))
}
