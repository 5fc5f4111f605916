package audit

import (
	"encoding/json"
	"maps"
	"slices"
)

// dedup checks deduplication ids and the jobs that are kept to follow others.
func (a *auditor) dedup(q *queue) {
	for _, id := range slices.Sorted(maps.Keys(q.held)) {
		e := q.held[id]
		key, holder := q.base+"de:"+id, q.jobs[e.Text]
		switch {
		case e.TTL != nil: // it ends, whatever becomes of the job
		case holder == nil:
			a.report(RuleDedup, key, "is held without an end by job %q, which does not exist", e.Text)
		case holder.fields["deid"] != id:
			a.report(RuleDedup, key, "is held without an end by job %q, whose id is %q", e.Text, holder.fields["deid"])
		case holder.in("completed", "failed"):
			a.report(RuleDedup, key, "is held without an end by job %q, which is finished", e.Text)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(q.next)) {
		followed := false
		for _, j := range q.jobs {
			followed = followed || j.fields["deid"] == id && !j.in("completed", "failed")
		}
		if !followed {
			a.report(RuleNext, q.base+"dn:"+id, "is kept to follow a job with that deduplication id, and there is none to finish")
		}
	}
}

// family checks parents and children.
func (a *auditor) family(q *queue) {
	for _, id := range slices.Sorted(maps.Keys(q.jobs)) {
		j := q.jobs[id]
		a.parentOf(j)
		a.childrenOf(q, j)
	}
}

// parentOf checks what a job says of its parent, and that the parent waits for it.
func (a *auditor) parentOf(j *job) {
	pkey, text := j.fields["parentKey"], j.fields["parent"]
	if pkey == "" && text == "" {
		return
	}
	var p struct {
		ID       string `json:"id"`
		QueueKey string `json:"queueKey"`
		Remove   bool   `json:"rdof"`
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil || p.QueueKey+":"+p.ID != pkey {
		a.report(RuleParent, j.key, "has the parent %q, and by field parent %s", pkey, text)
		return
	}
	parent := a.job(pkey)
	// A parent may have been removed, and another job have got its id; a child
	// that leaves no trace when it fails is not waited for when it is retried.
	if parent == nil || j.in("completed", "failed") || p.Remove {
		return
	}
	born, _ := j.number("timestamp")
	if since, _ := parent.number("timestamp"); since > born {
		return
	}
	if !slices.Contains(a.state[pkey+":dependencies"].Set, j.key) {
		a.report(RuleUnawaited, j.key, "is not done, and its parent %s does not wait for it", pkey)
	}
}

// childrenOf checks what a parent knows of its children.
func (a *auditor) childrenOf(q *queue, j *job) {
	parts := q.parts[j.id]
	for _, key := range parts["dependencies"].Set {
		child := a.job(key)
		switch {
		case child == nil:
			a.report(RulePending, j.key, "waits for %s, which does not exist", key)
		case child.fields["parentKey"] != j.key:
			a.report(RulePending, j.key, "waits for %s, whose parent is %q", key, child.fields["parentKey"])
		case child.in("completed"):
			a.report(RulePending, j.key, "waits for %s, which is completed", key)
		}
	}
	for _, m := range parts["unsuccessful"].Sorted {
		child := a.job(m.Name)
		if child == nil || child.fields["parentKey"] != j.key || child.in("failed") {
			continue
		}
		if made, _ := child.number("timestamp"); made <= m.Score { // else it was made after the one that failed
			a.report(RuleFailed, j.key, "is to fail because of %s, which has not failed", m.Name)
		}
	}
	if !j.in("waiting-children") {
		return
	}
	if len(parts["dependencies"].Set) == 0 {
		a.report(RuleReleased, j.key, "waits for children and has none pending")
	}
	if len(parts["unsuccessful"].Sorted) > 0 {
		a.report(RuleReleased, j.key, "waits for children, one of which has failed and makes it fail")
	}
}
