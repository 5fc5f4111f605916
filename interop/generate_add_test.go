package interop

import (
	"fmt"
	"slices"
	"strings"
)

var (
	customIDs = []string{"c1", "c2", "c3", "c4", "ü 日本", "😀", "a:b:c"}
	dedupIDs  = []string{"d1", "d2"}
)

func (g *generator) add() call {
	q := g.queue()
	opts := g.options()
	if g.chance(5) {
		opts["jobId"] = pick(g, customIDs...)
	}
	switch g.r.IntN(8) {
	case 0, 1:
		g.parent(opts)
	case 2, 3, 4:
		opts["deduplication"] = g.dedup(q)
		if g.chance(2) { // where jobs are replaced
			opts["delay"] = pick(g, 700, 5000)
		}
		if g.chance(20) { // both is refused
			g.parent(opts)
		}
	}
	return call{"queue.add", Args{"queue": q, "name": pick(g, "n", "m é"), "data": g.value(), "opts": opts}}
}

// addBulk adds some jobs that share options but for those that payloads decide.
func (g *generator) addBulk() call {
	common := g.options()
	delete(common, "priority")
	delete(common, "delay")
	q := g.queue()
	if g.chance(4) {
		common["deduplication"] = g.dedup(q)
	}
	jobs := make([]Args, g.r.IntN(3)+2)
	for i := range jobs {
		opts := Args{}
		for k, v := range common {
			opts[k] = v
		}
		switch g.r.IntN(4) {
		case 0:
			opts["priority"] = g.r.IntN(3) + 1
		case 1:
			opts["delay"] = pick(g, 1, 700, 5000)
		case 2:
			opts["jobId"] = pick(g, customIDs...)
		}
		jobs[i] = Args{"name": "b", "data": g.value(), "opts": opts}
	}
	return call{"queue.addBulk", Args{"queue": q, "jobs": jobs}}
}

// options are any but ids, deduplication and parent, in the form in which this
// module stores them too.
func (g *generator) options() Args {
	opts := Args{}
	if g.chance(4) {
		opts["delay"] = pick(g, 1, 1, 700, 5000, 60_000)
	}
	if g.chance(4) {
		opts["priority"] = pick(g, 1, 2, 3, 5, 2097151)
	}
	if g.chance(8) {
		opts["lifo"] = true
	}
	if g.chance(2) {
		opts["attempts"] = g.r.IntN(4) + 1
	}
	if g.chance(4) {
		opts["backoff"] = Args{"type": pick(g, "fixed", "exponential", "mine", "mine"), "delay": pick(g, 0, 700, 1000)}
		if g.chance(8) {
			opts["backoff"] = 700
		}
	}
	if g.chance(8) {
		opts["timestamp"] = g.w.clock - int64(pick(g, 1, 700, 5000))
	}
	if g.chance(8) {
		opts["keepLogs"] = g.r.IntN(2) + 1
	}
	if g.chance(8) {
		opts["stackTraceLimit"] = g.r.IntN(3)
	}
	if g.chance(10) {
		opts["telemetry"] = Args{"metadata": `{"traceparent":"00-1"}`}
	}
	for _, name := range []string{"removeOnComplete", "removeOnFail"} {
		if g.chance(4) {
			opts[name] = pick[any](g, true, false, 1, 2, Args{"age": 60}, Args{"age": 1, "count": 2}, Args{"age": 1, "limit": 1})
		}
	}
	return opts
}

// dedupModes are all that differ in what happens to a holder.
var dedupModes = []Args{
	{}, {"ttl": 2 * ttlStep}, {"ttl": 2 * ttlStep, "extend": true}, {"replace": true}, {"ttl": 4 * ttlStep, "replace": true},
	{"ttl": 2 * ttlStep, "extend": true, "replace": true}, {"keepLastIfActive": true}, {"keepLastIfActive": true, "replace": true},
}

// dedup is one of the modes, more often one that does something to whoever
// holds the id now.
func (g *generator) dedup(queue string) Args {
	d := Args{"id": pick(g, dedupIDs...)}
	modes := dedupModes
	holder := g.w.state[fmt.Sprintf("bull:%s:de:%s", queue, d["id"])].Text
	switch {
	case g.chance(2):
	case slices.Contains(g.w.ids(queue, "delayed"), holder):
		modes = dedupModes[3:6]
	case slices.Contains(g.w.ids(queue, "active"), holder):
		modes = dedupModes[6:]
	}
	for k, v := range pick(g, modes...) {
		d[k] = v
	}
	if g.chance(4) {
		d["reschedule"] = true
	}
	return d
}

// parent makes the job a child of one that exists, or else of none.
func (g *generator) parent(opts Args) {
	q := g.queue()
	states := []string{"active", "active", "waiting-children", "wait", "delayed", "prioritized", "failed", "completed"}
	id, ok := some(g, g.w.ids(q, pick(g, states...)))
	if !ok || strings.Contains(id, ":") {
		if !g.chance(10) {
			return
		}
		id = "nobody"
	}
	opts["parent"] = Args{"id": id, "queue": "bull:" + q}
	if policy := pick(g, policies...); policy != "" {
		opts[policy] = true
	}
}

// flow adds one or two trees of jobs, each with an id, so that both sides take
// the same. A leaf may be a job that is there already and has no parent.
func (g *generator) flow() call {
	if g.chance(4) {
		return call{"flow.addBulk", Args{"flows": []Args{g.tree(1), g.tree(2)}}}
	}
	root := g.tree(0)
	switch g.r.IntN(8) {
	case 0, 1:
		g.parent(root["opts"].(Args))
	case 2:
		if root["children"] != nil {
			break // one that waits for children is refused here
		}
		root["opts"].(Args)["deduplication"] = g.dedup(root["queueName"].(string))
	}
	return call{"flow.add", Args{"flow": root}}
}

// tree is a job of a flow at some depth, and those below it.
func (g *generator) tree(depth int) Args {
	g.nodes++
	q, opts := g.queue(), g.options()
	opts["jobId"] = fmt.Sprint("f", g.nodes)
	node := Args{"name": "f", "queueName": q, "data": g.value(), "opts": opts}
	if depth > 0 {
		if policy := pick(g, policies...); policy != "" {
			opts[policy] = true
		}
	}
	if depth < 3 && !g.chance(depth+2) {
		children := make([]Args, g.r.IntN(3)+1)
		for i := range children {
			children[i] = g.tree(depth + 1)
		}
		node["children"] = children
	} else if id, ok := g.orphan(q); ok && depth > 0 && g.chance(4) {
		opts["jobId"] = id
	}
	return node
}

// orphan is a job with an id of its own that has no parent and did not fail.
func (g *generator) orphan(queue string) (string, bool) {
	var ids []string
	for _, id := range g.w.ids(queue, "wait", "active", "delayed", "prioritized", "completed") {
		if slices.Contains(customIDs, id) && !strings.Contains(id, ":") && g.w.job(queue, id)["parentKey"] == "" {
			ids = append(ids, id)
		}
	}
	return some(g, ids)
}

var scheduleIDs = []string{"s1", "s2"}

// schedule stores a schedule, or removes one.
func (g *generator) schedule() call {
	q, id := g.queue(), pick(g, scheduleIDs...)
	if g.chance(4) {
		return call{"scheduler.remove", Args{"queue": q, "id": id}}
	}
	repeat := Args{}
	if g.chance(3) {
		repeat["pattern"], repeat["tz"] = pick(g, "*/5 * * * * *", "0 * * * * *", "30 2 * * *"), "UTC"
	} else {
		repeat["every"] = pick(g, 700, 5000, 60_000)
		if g.chance(4) {
			repeat["offset"] = pick(g, 1, 300)
		}
	}
	if g.chance(4) {
		repeat["limit"] = g.r.IntN(3) + 1
	}
	if g.chance(6) { // a first job after the end is refused here
		repeat["endDate"] = g.w.clock + int64(pick(g, 86_500_000, 200_000_000))
	}
	if g.chance(8) && repeat["offset"] == nil { // together they are refused here
		repeat["immediately"] = true
	}
	if g.chance(8) {
		repeat["startDate"] = g.w.clock + int64(pick(g, 1000, 6000))
	}
	opts := g.options()
	delete(opts, "delay")
	delete(opts, "timestamp")
	if opts["backoff"] == 700 { // stored as the object that it stands for
		delete(opts, "backoff")
	}
	opts["attempts"] = g.r.IntN(3) + 1 // this module stores it as 0 when it is not given
	template := Args{"name": pick(g, "tick", "m é"), "data": Args{"a": g.r.IntN(3)}, "opts": opts}
	if g.chance(4) {
		delete(template, pick(g, "name", "data"))
	}
	return call{"scheduler.upsert", Args{"queue": q, "id": id, "repeat": repeat, "template": template}}
}
