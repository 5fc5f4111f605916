package manifest

import "slices"

// keys compares the text of the ids that are made of fields. While jobs of the
// old text are in the queue, an equal job of the new one is added all the same.
func (c *comparison) keys(queue string, was, now *Task) {
	if was.Keys == nil || now.Keys == nil {
		return
	}
	c.key(queue, was.Name, "jobid", was.Keys.JobID, now.Keys.JobID, was.Keys.JobIDScope, now.Keys.JobIDScope)
	c.key(queue, was.Name, "dedup", was.Keys.Deduplication, now.Keys.Deduplication, was.Keys.DeduplicationScope, now.Keys.DeduplicationScope)
}

func (c *comparison) key(queue, task, word string, was, now Fields, oldScope, scope string) {
	const until = "until the jobs with old keys are done, and any deduplication ttl is over, an equal job is added again"
	switch {
	case len(was) == 0 || len(now) == 0:
	case oldScope == "" && scope != "":
		c.add(Warning, queue, task, "keys of %s begin with %q now, and had no scope: %s", word, scope+"/", until)
	case oldScope != scope:
		c.add(Warning, queue, task, "keys of %s begin with %q now, and began with %q: %s; scope=%s in the tag keeps the old ones", word, scope+"/", oldScope+"/", until, oldScope)
	case !slices.Equal(was, now):
		c.add(Warning, queue, task, "keys of %s are made of other fields now: %s", word, until)
	}
}
