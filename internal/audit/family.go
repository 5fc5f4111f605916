package audit

// Child is a reference of a parent to one of its children, and what the keys
// of that child say.
type Child struct {
	Key       string
	Exists    bool
	ParentKey string
	Completed bool
	Failed    bool
	Timestamp float64
	FailedAt  float64 // when the parent learned that it failed

}

// CheckPending reports what is wrong with a child that a parent waits for.
func (c *Child) CheckPending(r Report, parent, id string) {
	settle := fix("child", id, c.Key)
	switch {
	case !c.Exists:
		r.add(RulePending, parent, id, "stop waiting for it", settle, "waits for %s, which does not exist", c.Key)
	case c.ParentKey != parent:
		r.add(RulePending, parent, id, "remove the dependency or the parent", Fix{}, "waits for %s, whose parent is %q", c.Key, c.ParentKey)
	case c.Completed:
		r.add(RulePending, parent, id, "give the parent the child's result", settle, "waits for %s, which is completed", c.Key)
	}
}

// CheckFailing reports what is wrong with a child whose failure makes its parent fail.
func (c *Child) CheckFailing(r Report, parent, id string) {
	if !c.Exists || c.ParentKey != parent || c.Failed {
		return
	}
	if c.Timestamp <= c.FailedAt { // else it was made after the one that failed
		r.add(RuleFailed, parent, id, cureWatch, Fix{}, "will fail because of %s, which has not failed", c.Key)
	}
}

// Dedup is a deduplication id, and the job that holds it.
type Dedup struct {
	Key, ID  string
	Holder   string // the id of the job that holds it
	Expires  bool
	Exists   bool   // the holder exists
	HolderID string // the deduplication id in the holder's hash
	Finished bool   // the holder is finished
}

// Check reports a deduplication id that is held forever.
func (d *Dedup) Check(r Report) {
	const cure = "free the deduplication id"
	free := fix("dedup", d.ID)
	switch {
	case d.Expires: // whatever becomes of the job
	case !d.Exists:
		r.add(RuleDedup, d.Key, d.Holder, cure, free, "is held without an end by job %q, which does not exist", d.Holder)
	case d.HolderID != d.ID:
		r.add(RuleDedup, d.Key, d.Holder, cure, free, "is held without an end by job %q, whose id is %q", d.Holder, d.HolderID)
	case d.Finished:
		r.add(RuleDedup, d.Key, d.Holder, cure, free, "is held without an end by job %q, which is finished", d.Holder)
	}
}

// CheckNext reports a job that is kept under key to follow another one, when
// no unfinished job has the deduplication id.
func CheckNext(r Report, key string, followed bool) {
	if !followed {
		r.add(RuleNext, key, "", "add the job that the hash describes, then delete the key", Fix{},
			"is kept to follow a job with that deduplication id, and none is unfinished")
	}
}

// CheckPart reports a key of a job that does not exist.
func CheckPart(r Report, key, id string) {
	r.add(RuleOrphan, key, id, "delete it", fix("parts", id), "belongs to job %q, which does not exist", id)
}

// CheckGhost reports an id in a state that is not the id of a job.
func CheckGhost(r Report, base, state, id string) {
	r.add(RuleGhost, base+state, id, "take the id out", fix("ghost", state, id), "holds %q, which is no job", id)
}

// CheckType reports a key that has not the type it must have.
func CheckType(r Report, key, typ, want string) {
	if typ != want {
		r.add(RuleKey, key, "", "rename or delete the key: it is not BullMQ's", Fix{}, "is a %s, it should be a %s", typ, want)
	}
}

// CheckUnknown reports a key that is none of a queue's.
func CheckUnknown(r Report, key, typ string) {
	r.add(RuleKey, key, "", "rename or delete the key: it is not BullMQ's", Fix{}, "is no key that a queue has, a %s", typ)
}
