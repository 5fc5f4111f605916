package interop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// deviations5 are the operations that are left out, beside those of deviations,
// with a peer of 5.x: where this module does as 6.x does in Peers5 mode too.
var deviations5 = map[string]func(*world, call) string{
	"queue.add":     added5,
	"queue.addBulk": bulk5,
	"flow.add":      flows5,
	"flow.addBulk":  flows5,
	"job.retry": func(w *world, c call) string {
		if p := w.job(c.Args["queue"].(string), c.Args["id"].(string))["priority"]; p != "" && p != "0" {
			return "a retried job waits by its priority"
		}
		return ""
	},
	"queue.retryJobs": func(w *world, c call) string {
		q := c.Args["queue"].(string)
		for _, id := range w.ids(q, c.Args["opts"].(Args)["state"].(string)) {
			if w.job(q, id)["parentKey"] != "" {
				return "a child that is retried in bulk is awaited by its parent again"
			}
		}
		return ""
	},
	"worker.getNextJob": func(w *world, c call) string {
		q := benchWorkers[c.Args["worker"].(string)].queue
		for _, id := range w.ids(q, comingStates...) {
			schedule := w.state["bull:"+q+":repeat:"+w.job(q, id)["rjk"]].Hash
			if _, has := schedule["data"]; schedule != nil && !has && w.job(q, id)["data"] != "{}" {
				return "a schedule without a payload goes on without one, whatever became of its job's"
			}
		}
		return deferred(w, q)
	},
	"worker.moveToCompleted": next5,
	"worker.moveToFailed":    next5,
	"queue.resume":           unlessThere("wait", "jobs that wait wake a worker, and not those alone that were set aside"),
	"queue.clean": func(w *world, c call) string {
		if other := map[any]string{"wait": "paused", "paused": "wait"}[c.Args["type"]]; other != "" {
			return unlessThere(other, "jobs that wait are cleaned, whichever list they stand in")(w, c)
		}
		return ""
	},
	"queue.getJobs":                 setAside,
	"queue.getRanges":               setAside,
	"queue.getWaiting":              setAside,
	"queue.getWaitingCount":         setAside,
	"queue.getJobCountByTypes":      setAside,
	"queue.exportPrometheusMetrics": setAside,
}

// comingStates are those of jobs that may be taken next.
var comingStates = []string{"wait", "paused", "prioritized", "delayed"}

// deferred leaves out what may take a job that is only to be failed.
func deferred(w *world, queue string) string {
	for _, id := range w.ids(queue, comingStates...) {
		if w.job(queue, id)["defa"] != "" {
			return "Node fails a job by itself that is only to be failed, and takes the next one"
		}
	}
	return ""
}

// next5 leaves out what may take such a job in the call that finishes another,
// whose parent it may be.
func next5(w *world, c call) string {
	if c.Args["next"] != true {
		return ""
	}
	q := c.Args["queue"].(string)
	if c.Op == "worker.moveToFailed" && w.job(q, c.Args["id"].(string))["parent"] != "" {
		return "a parent that fails with its child uses up no rate limit"
	}
	return deferred(w, q)
}

var setAside = unlessThere("paused", "what 5.x set aside is listed, and counted, with what waits")

func added5(w *world, c call) string {
	q, opts := c.Args["queue"].(string), c.Args["opts"].(Args)
	if why := reparented(w, q, opts); why != "" {
		return why
	}
	d, ok := opts["deduplication"].(Args)
	if !ok {
		return ""
	}
	key := fmt.Sprintf("bull:%s:de:%s", q, d["id"])
	holder, there := w.state[key]
	switch {
	case there && holder.TTL == nil && w.job(q, holder.Text) == nil:
		return "a deduplication id of a job that is gone is taken over"
	case d["reschedule"] == true && slices.Contains(w.ids(q, "delayed"), holder.Text):
		return "5.x does not know how to reschedule"
	}
	if _, kept := w.state[fmt.Sprintf("bull:%s:dn:%s", q, d["id"])]; kept && d["replace"] == true {
		return "a job that is kept to follow another is dropped with it"
	}
	return ""
}

// bulk5 also leaves out jobs that may reschedule one of the same call.
func bulk5(w *world, c call) string {
	return eachAdd(func(w *world, c call) string {
		if d, ok := c.Args["opts"].(Args)["deduplication"].(Args); ok && d["reschedule"] == true {
			return "5.x does not know how to reschedule"
		}
		return added5(w, c)
	})(w, c)
}

// reparented leaves out what gets a new parent, its own being gone.
func reparented(w *world, queue string, opts Args) string {
	id, _ := opts["jobId"].(string)
	if parent := w.job(queue, id)["parentKey"]; id != "" && opts["parent"] != nil && parent != "" && w.state[parent].Type == "" {
		return "a child whose parent is gone gets a new one"
	}
	return ""
}

// flows5 leaves out flows with a child that is completed already, and with a root
// that is left out by itself.
func flows5(w *world, c call) string {
	flows, _ := c.Args["flows"].([]Args)
	if flow, ok := c.Args["flow"].(Args); ok {
		flows = []Args{flow}
	}
	for _, flow := range flows {
		if why := added5(w, rootAdd(flow)); why != "" {
			return why
		}
	}
	var walk func(Args) bool
	walk = func(node Args) bool {
		q, id := node["queueName"].(string), node["opts"].(Args)["jobId"].(string)
		children, _ := node["children"].([]Args)
		return slices.Contains(w.ids(q, "completed"), id) || slices.ContainsFunc(children, walk)
	}
	if slices.ContainsFunc(flows, walk) {
		return "a parent is released when its last child is added, not its first"
	}
	return ""
}

// answerViews5 are what is compared of the answers of 5.x, where it is not what
// is compared of those of 6.x.
var answerViews5 = map[string]func(json.RawMessage) (any, error){
	"queue.getDelayedCount":         ignored, // 5.x counts all, whatever the time
	"queue.getJobCounts":            waitingTogether,
	"queue.exportPrometheusMetrics": withoutSetAside,
}

// waitingTogether counts what 5.x set aside with what waits, as this module does.
func waitingTogether(text json.RawMessage) (any, error) {
	var counts map[string]int
	err := json.Unmarshal(text, &counts)
	if n, ok := counts["paused"]; ok {
		counts["waiting"] += n
		delete(counts, "paused")
	}
	return counts, err
}

// withoutSetAside is a report without the line that only 5.x has.
func withoutSetAside(text json.RawMessage) (any, error) {
	var report string
	err := json.Unmarshal(text, &report)
	return slices.DeleteFunc(strings.Split(report, "\n"), func(line string) bool { return strings.Contains(line, `state="paused"`) }), err
}
