package interop

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
)

// deviates says why an operation is left out: the sides are meant to differ in
// it (see testdata/vectors/deviations.json and docs/decisions.md), or Node does
// not say in which order it goes. Empty: it is played.
func deviates(w *world, c call) string {
	if f := deviations[c.Op]; f != nil {
		if why := f(w, c); why != "" {
			return why
		}
	}
	if f := deviations5[c.Op]; f != nil && w.lib == Node5 {
		return f(w, c)
	}
	return ""
}

var deviations = map[string]func(*world, call) string{
	"queue.add": func(w *world, c call) string {
		if why := deduplicated(w, c); why != "" {
			return why
		}
		return cycles(w, c)
	},
	"queue.addBulk":   eachAdd(deduplicated),
	"flow.add":        otherFamilies,
	"flow.addBulk":    otherFamilies,
	"queue.getRanges": afterSetAside,
	"queue.getJobs":   afterSetAside,
	"flow.getFlow": func(w *world, c call) string {
		if w.job(c.Args["queue"].(string), c.Args["id"].(string)) == nil {
			return "a flow of a job that does not exist is an error"
		}
		return ""
	},
	"scheduler.upsert":  rescheduled,
	"worker.getNextJob": func(w *world, c call) string { return slotTaken(w, benchWorkers[c.Args["worker"].(string)].queue) },
	"queue.retryJobs": func(w *world, c call) string {
		opts := c.Args["opts"].(Args)
		q := c.Args["queue"].(string)
		for _, id := range w.ids(q, opts["state"].(string)) {
			if prio := w.job(q, id)["priority"]; prio != "0" && prio != "" {
				return "jobs retried in bulk wait by their priority"
			}
		}
		return ""
	},
	"worker.moveToWait":            notHeld,
	"worker.moveToCompleted":       finished,
	"worker.moveToFailed":          finished,
	"worker.moveToDelayed":         notHeld,
	"worker.moveToWaitingChildren": notHeld,
	"worker.extendLock":            notHeld,
	"worker.forget":                notHeld,
	"job.removeChildDependency": func(w *world, c call) string {
		if w.job(c.Args["queue"].(string), c.Args["id"].(string))["parentKey"] == "" {
			return "a job without a parent is no error: nothing waits for it"
		}
		return lastChild(w, w.job(c.Args["queue"].(string), c.Args["id"].(string))["parentKey"])
	},
	"queue.obliterate": func(w *world, c call) string {
		for _, id := range w.ids(c.Args["queue"].(string), "waiting-children") {
			if w.job(c.Args["queue"].(string), id)["parentKey"] != "" {
				return "parents that wait go too, and with them what waits for those"
			}
		}
		return lastOfMany(w, c)
	},
	"queue.clean": func(w *world, c call) string {
		if why := lastOfMany(w, c); why != "" || c.Args["type"] == "completed" || c.Args["type"] == "failed" {
			return why
		}
		spared := slices.ContainsFunc(w.ids(c.Args["queue"].(string), c.Args["type"].(string)), func(id string) bool {
			return strings.HasPrefix(id, "repeat:") // the next job of a schedule
		})
		if c.Args["limit"] != 0 && (spared || c.Args["grace"] != 0 || c.Args["type"] == "active") {
			return "a limit is of jobs that are removed, not of those looked at"
		}
		return ""
	},
	"queue.removeOrphanedJobs": func(w *world, c call) string {
		if limit := c.Args["limit"].(int); limit != 0 && w.lost(c.Args["queue"].(string)) > limit {
			return "Node removes all that it finds in a page, whatever the limit"
		}
		return unlessThere("metrics:failed", "Node takes the metrics of failed jobs for a job")(w, c)
	},
	"queue.promoteJobs": func(w *world, c call) string {
		q := c.Args["queue"].(string)
		for _, id := range w.ids(q, "delayed") {
			if prio := w.job(q, id)["priority"]; prio != "0" && prio != "" {
				return "jobs promoted in bulk wait by their priority"
			}
		}
		return ""
	},
	"job.remove":                    removal,
	"queue.remove":                  removal,
	"job.removeUnprocessedChildren": removal,
	"queue.drain": func(w *world, c call) string {
		for _, id := range w.ids(c.Args["queue"].(string), "wait", "paused") {
			if strings.HasPrefix(id, "repeat:") {
				return "the job that a schedule waits for stays in its list"
			}
		}
		return lastOfMany(w, c)
	},
}

// afterSetAside leaves out lists of several states that begin with the jobs that
// were set aside.
func afterSetAside(_ *world, c call) string {
	if types := c.Args["types"].([]string); len(types) > 1 && types[0] == "paused" {
		return "6.x turns round the list that follows that of the jobs set aside"
	}
	return ""
}

// eachAdd is about the jobs of a bulk what f is about one.
func eachAdd(f func(*world, call) string) func(*world, call) string {
	return func(w *world, c call) string {
		for _, job := range c.Args["jobs"].([]Args) {
			if why := f(w, call{"queue.add", Args{"queue": c.Args["queue"], "opts": job["opts"]}}); why != "" {
				return why
			}
		}
		return ""
	}
}

// lost is how many jobs of a queue are in no state.
func (w *world) lost(queue string) (n int) {
	for key, e := range w.state {
		id, ok := strings.CutPrefix(key, "bull:"+queue+":")
		if _, job := e.Hash["name"]; ok && job && !strings.Contains(id, ":") && !slices.Contains(w.ids(queue, allStates...), id) {
			n++
		}
	}
	return n
}

// unlessThere leaves out an operation where a key of the queue exists.
func unlessThere(key, why string) func(*world, call) string {
	return func(w *world, c call) string {
		if _, there := w.state[fmt.Sprintf("bull:%s:%s", c.Args["queue"], key)]; there {
			return why
		}
		return ""
	}
}

// wakesMore are the operations that may wake a worker here and not in Node,
// where work then waits until some worker's next look.
var wakesMore = map[string]func(*world, call) bool{
	// A changed or ended limit may let jobs start.
	"queue.setGlobalConcurrency":    always,
	"queue.removeGlobalConcurrency": always,
	"queue.setGlobalRateLimit":      always,
	"queue.removeGlobalRateLimit":   always,
	"queue.removeRateLimitKey":      always,
	// A place among those that the queue's concurrency allows gets free.
	"worker.moveToCompleted":        limited,
	"worker.moveToFailed":           limited,
	"worker.moveToDelayed":          limited,
	"worker.moveToWaitingChildren":  limited,
	"job.remove":                    limited,
	"queue.remove":                  limited,
	"job.removeUnprocessedChildren": limited,
	"queue.clean":                   limited,
	// A prioritized job that goes back may be taken.
	"worker.moveToWait": always,
}

func always(*world, call) bool { return true }

// limited reports whether a queue has a limit of its own for jobs at once.
func limited(w *world, _ call) bool {
	return w.state["bull:"+mainQueue+":meta"].Hash["concurrency"] != "" || w.state["bull:"+kidsQueue+":meta"].Hash["concurrency"] != ""
}

// notHeld leaves out what can be done to held jobs only.
func notHeld(w *world, c call) string {
	if w.held[heldKey(c)] == "" {
		return "not held"
	}
	return ""
}

// inAnyOrder are the operations in which Node goes through a set: the keys of
// queues of which only the order may differ then.
var inAnyOrder = map[string][]string{
	"job.remove":                    {"events"},
	"queue.remove":                  {"events"},
	"job.removeUnprocessedChildren": {"events"},
	"worker.stalledCheck":           {"events", "wait", "paused"},
}

// removal leaves out removals that release a parent with a delay or a priority,
// or meet a job that is kept here.
func removal(w *world, c call) string {
	key := fmt.Sprintf("bull:%s:%s", c.Args["queue"], c.Args["id"])
	if why := lastChild(w, w.state[key].Hash["parentKey"]); why != "" {
		return why
	}
	return descend(w, key, 0)
}

// lastChild leaves out what may release a waiting parent with a delay or a
// priority by removing its last child: here it honours them, as when its
// children are done.
func lastChild(w *world, parentKey string) string {
	parent := w.state[parentKey].Hash
	if len(w.state[parentKey+":dependencies"].Set) == 0 {
		return ""
	}
	for _, field := range []string{"priority", "delay"} {
		if v := parent[field]; v != "" && v != "0" {
			return "a parent whose last child is removed waits by its own delay and priority"
		}
	}
	return ""
}

// lastOfMany does the same for what removes many jobs.
func lastOfMany(w *world, _ call) string {
	for _, q := range []string{mainQueue, kidsQueue} {
		for _, id := range w.ids(q, "waiting-children") {
			if why := lastChild(w, "bull:"+q+":"+id); why != "" {
				return why
			}
		}
		if slices.ContainsFunc(w.ids(q, allStates...), func(id string) bool { return w.leftToFollow("bull:" + q + ":" + id) }) {
			return "a job that was kept to follow one whose deduplication id was released goes with it"
		}
	}
	return ""
}

func descend(w *world, key string, depth int) string {
	if w.leftToFollow(key) {
		return "a job that was kept to follow one whose deduplication id was released goes with it"
	}
	if depth > 10 {
		return "jobs that are each other's parents"
	}
	if why := lastChild(w, key); why != "" {
		return why
	}
	for _, child := range w.children(key) {
		_, held := w.state[child+":lock"]
		if held && !slices.Contains(w.state[key+":dependencies"].Set, child) {
			return "a job that a worker holds is not removed with a parent that knows it as done"
		}
		if why := descend(w, child, depth+1); why != "" {
			return why
		}
	}
	return ""
}

// leftToFollow reports whether a job is kept to follow one whose deduplication
// id was released meanwhile.
func (w *world) leftToFollow(key string) bool {
	deid := w.state[key].Hash["deid"]
	base := key[:strings.LastIndex(key, ":")+1]
	_, held := w.state[base+"de:"+deid]
	_, kept := w.state[base+"dn:"+deid]
	return deid != "" && kept && !held
}

// evicted leaves out what ends a job that another one was kept to follow, whose
// id was taken meanwhile. And what may remove the last child of a waiting parent
// with a delay or a priority by retention: a failed child that the parent still
// waits for, or the one that fails now.
func evicted(w *world, c call) string {
	if why := notHeld(w, c); why != "" {
		return why
	}
	base := fmt.Sprintf("bull:%s:", c.Args["queue"])
	self := fmt.Sprint(base, c.Args["id"])
	job := w.state[self].Hash
	if kept := w.state[base+"dn:"+job["deid"]].Hash["jid"]; job["deid"] != "" && kept != "" && w.state[base+kept].Type != "" {
		return "a job that was kept to follow another is not written over one that has its id by now"
	}
	goes := c.Op == "worker.moveToFailed" && strings.Contains(job["opts"], `"removeOnFail":`)
	policy := strings.Contains(job["parent"], "of\":true")
	for _, q := range []string{mainQueue, kidsQueue} {
		for _, id := range w.ids(q, "waiting-children") {
			key := "bull:" + q + ":" + id
			pending := w.state[key+":dependencies"].Set
			stays := slices.ContainsFunc(pending, func(child string) bool { return !w.failed(child) && !(child == self && goes) })
			byPolicy := policy && slices.Equal(pending, []string{self}) // not by retention
			if !stays && !byPolicy {
				if why := lastChild(w, key); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

// finished leaves out what evicted does. And of what takes the next job, too:
// what is refused, after which only Node takes none, and schedules, of which
// nothing follows in Node when it is not its worker that took the job.
func finished(w *world, c call) string {
	if why := evicted(w, c); why != "" || c.Args["next"] != true {
		return why
	}
	q, id := c.Args["queue"].(string), c.Args["id"].(string)
	key := "bull:" + q + ":" + id
	switch {
	case !slices.Contains(w.ids(q, "active"), id), w.state[key+":lock"].Type == "", w.state[key+":lock"].Text == thief,
		len(w.state[key+":dependencies"].Set)+len(w.state[key+":unsuccessful"].Sorted) > 0:
		return "a job whose end is refused keeps Node from the next one"
	case slices.ContainsFunc(w.ids(q, "wait", "paused", "prioritized", "delayed"), func(id string) bool { return w.job(q, id)["rjk"] != "" }):
		return "Node's program would have to go on with the schedule"
	}
	return ""
}

// failed reports whether a job is among the failed ones, by its key.
func (w *world) failed(key string) bool {
	at := strings.LastIndex(key, ":")
	return slices.ContainsFunc(w.state[key[:at]+":failed"].Sorted, func(m vectors.Member) bool { return m.Name == key[at+1:] })
}

// rescheduled leaves out schedules stored again where Node keeps the phase of
// another interval, overwrites a finished job, or leaves one behind.
func rescheduled(w *world, c call) string {
	q, id := c.Args["queue"].(string), c.Args["id"].(string)
	base := "bull:" + q + ":"
	stored, there := w.state[base+"repeat:"+id]
	if w.early(q, id, !there || c.Args["repeat"].(Args)["immediately"] == true) {
		return "a job that has the id of a schedule's next one stays as it is, and the schedule goes on after it"
	}
	if !there {
		return ""
	}
	every, _ := c.Args["repeat"].(Args)["every"].(int)
	if was, _ := strconv.Atoi(stored.Hash["every"]); every != 0 && was != every {
		return "a schedule whose interval changes gets the phase of its new first job"
	}
	if _, paused := w.state[base+"meta"].Hash["paused"]; paused {
		return "the job that waits in a paused queue is found and replaced"
	}
	for _, m := range w.state[base+"repeat"].Sorted {
		if m.Name == id && m.Score <= float64(w.clock) {
			return "storing a schedule again does not drop the job that is due"
		}
		if m.Name == id && every != 0 && m.Score > float64(w.clock)+2*float64(every) {
			return "a slot that is further off than two intervals is set anew"
		}
	}
	for _, job := range w.ids(q, "completed", "failed") {
		if strings.HasPrefix(job, "repeat:"+id+":") {
			return "a finished job with the id of a schedule's next one stays as it is"
		}
	}
	return slotTaken(w, q)
}

// early reports whether a schedule has, or had, a job that began before its time,
// or one of now that is not its next when it is to begin now.
func (w *world) early(queue, schedule string, now bool) bool {
	base := "bull:" + queue + ":"
	return slices.ContainsFunc(w.ids(queue, allStates...), func(job string) bool {
		ms, ok := strings.CutPrefix(job, "repeat:"+schedule+":")
		at, err := strconv.ParseFloat(ms, 64)
		if !ok || err != nil || slices.Contains(w.state[base+"repeat"].Sorted, vectors.Member{Name: schedule, Score: at}) {
			return false
		}
		return at > float64(w.clock) || now && at == float64(w.clock)
	})
}

// slotTaken leaves out what finds a schedule's next time taken: Node's stops there.
func slotTaken(w *world, queue string) string {
	base := "bull:" + queue + ":"
	for _, m := range w.state[base+"repeat"].Sorted {
		for key := range w.state {
			ms, ok := strings.CutPrefix(key, base+"repeat:"+m.Name+":")
			if at, err := strconv.ParseFloat(ms, 64); ok && err == nil && at > m.Score {
				return "a schedule goes on with a later job when there is one with the id of its next"
			}
		}
	}
	return ""
}

// otherFamilies leaves out flows with a job that has another parent, that failed
// before, or that the flow has twice: Node adds the rest without a word, and a
// parent waits for ever.
func otherFamilies(w *world, c call) string {
	flows, _ := c.Args["flows"].([]Args)
	if flow, ok := c.Args["flow"].(Args); ok {
		flows = []Args{flow}
	}
	seen := map[string]bool{}
	var walk func(Args) string
	walk = func(node Args) string {
		q, id := node["queueName"].(string), node["opts"].(Args)["jobId"].(string)
		if seen[q+"/"+id] || w.job(q, id)["parentKey"] != "" || slices.Contains(w.ids(q, "failed"), id) {
			return "a flow is added as a whole or not at all"
		}
		seen[q+"/"+id] = true
		children, _ := node["children"].([]Args)
		for _, child := range children {
			if why := walk(child); why != "" {
				return why
			}
		}
		return ""
	}
	for _, flow := range flows {
		if why := walk(flow); why != "" {
			return why
		}
		if why := deduplicated(w, rootAdd(flow)); why != "" {
			return why
		}
		parent, _ := flow["opts"].(Args)["parent"].(Args)
		if parent != nil && ancestor(w, fmt.Sprintf("%s:%s", parent["queue"], parent["id"]), seen) {
			return "a job cannot be its own ancestor"
		}
	}
	return ""
}

// rootAdd is the add of a flow's root alone.
func rootAdd(flow Args) call {
	return call{"queue.add", Args{"queue": flow["queueName"], "opts": flow["opts"]}}
}

// ancestor reports whether a job, or one above it, is among some ids.
func ancestor(w *world, key string, ids map[string]bool) bool {
	for ; key != ""; key = w.state[key].Hash["parentKey"] {
		parts := strings.Split(key, ":")
		if ids[parts[1]+"/"+parts[2]] {
			return true
		}
	}
	return false
}

// deduplicated leaves out what takes the place of a delayed job that its parent
// waits for, and what meets a job whose id was that of the holder's.
func deduplicated(w *world, c call) string {
	d, ok := c.Args["opts"].(Args)["deduplication"].(Args)
	if !ok {
		return ""
	}
	q := c.Args["queue"].(string)
	holder := w.state[fmt.Sprintf("bull:%s:de:%s", q, d["id"])].Text
	if job := w.job(q, holder); job != nil && job["deid"] != d["id"] {
		return "a job is left alone that has the id of one that held the deduplication id"
	}
	parent := w.job(q, holder)["parentKey"]
	if d["replace"] == true && slices.Contains(w.ids(q, "delayed"), holder) && slices.Contains(w.state[parent+":dependencies"].Set, "bull:"+q+":"+holder) {
		return "no parent waits for a job that was replaced"
	}
	return ""
}

// cycles leaves out what would make a job its own ancestor.
func cycles(w *world, c call) string {
	opts := c.Args["opts"].(Args)
	parent, ok := opts["parent"].(Args)
	id, named := opts["jobId"].(string)
	if !ok || !named {
		return ""
	}
	if strings.Contains(id, ":") {
		return "a child's id must not contain a colon"
	}
	self := map[string]bool{fmt.Sprint(c.Args["queue"], "/", id): true}
	if ancestor(w, fmt.Sprintf("%s:%s", parent["queue"], parent["id"]), self) {
		return "a job cannot be its own ancestor"
	}
	return ""
}
