package manifest

import "slices"

// jobsDiffer is how payloads of stored jobs differ from what is read of them.
func jobsDiffer(stored, read *Schema) []difference {
	s := newShapes(stored, read)
	s.where, s.lost = "jobs that are in the queue", "its value in jobs that are in the queue would be ignored"
	s.compare("data", stored, read)
	return s.found
}

// fits is true when every payload of the one schema is good for the other.
func fits(stored, read *Schema) bool {
	return !slices.ContainsFunc(jobsDiffer(stored, read), func(d difference) bool { return !d.harmless })
}

// succeeds is true when the task takes jobs of a task that there was.
func (t *Task) succeeds(was *queueTasks) bool {
	return slices.ContainsFunc(t.Aliases, func(name string) bool { return was.find(name) != nil }) ||
		slices.ContainsFunc(t.Upgrades, func(u *Upgrade) bool { return was.find(u.Name) != nil })
}

// upgraded compares the payload of stored jobs with what an upgrade reads.
func (c *comparison) upgraded(queue, name string, stored *Schema, u *Upgrade) {
	for _, d := range jobsDiffer(stored, u.Data) {
		if d.harmless {
			continue // new jobs are not of that name
		}
		c.add(Breaking, queue, name, "what func %s takes is not the payload as it was: %s %s: declare it as it was", u.Go.Name, d.path, d.what)
	}
}

// earlier looks for what has become of a task's earlier names. Those that were
// aliases have jobs with the payload of the task, if it is upgraded now.
func (c *comparison) earlier(queue string, was, now *Task, upgrade *Upgrade) {
	for _, a := range was.Aliases {
		heir, u := c.now[queue].heir(a)
		if heir == nil {
			heir = c.now[queue].find(a)
		}
		switch {
		case heir == now && u == nil && upgrade == nil: // what holds for the task holds for its aliases
		case u != nil:
			c.upgraded(queue, a, was.Data, u)
		case heir == nil:
			c.add(Safe, queue, was.Name, "the alias %s is gone: see that no job of that name is left", a)
		case !fits(was.Data, heir.Data):
			c.add(Breaking, queue, was.Name, "jobs of its alias %s have the old payload too, which %s does not take: %s", a, heir.Name, instead(a, upgrade, heir))
		}
	}
	for _, before := range was.Upgrades {
		heir, u := c.now[queue].heir(before.Name)
		switch {
		case u != nil:
			c.upgraded(queue, before.Name, before.Data, u)
		case heir == nil:
			c.add(Safe, queue, was.Name, "the upgrade from %s is gone: see that no job of that name is left", before.Name)
		case !fits(before.Data, heir.Data):
			c.add(Breaking, queue, was.Name, "%s is an alias now, and jobs of that name have a payload that is to be converted: keep func %s with //bullmq:upgrade from=%s", before.Name, before.Go.Name, before.Name)
		}
	}
}

// instead is what to write so that jobs of a name are converted.
func instead(name string, upgrade *Upgrade, heir *Task) string {
	if upgrade == nil {
		return upgrading(name, heir.Go.Name)
	}
	return "write //bullmq:upgrade from=" + name + " above func " + upgrade.Go.Name + " instead of the alias"
}

// codec compares the codecs of a task.
func (c *comparison) codec(queue string, was, now *Task) {
	switch {
	case was.Codec == now.Codec:
	case was.Codec == "":
		c.add(Safe, queue, was.Name, "has the codec %s now: let every program that reads its jobs or results know that first, those in Go with bullmq.DecodeOnly", now.Codec)
	case now.Codec == "":
		c.add(Breaking, queue, was.Name, "has no codec any more, and what is stored in envelopes of %s cannot be read: keep it as bullmq.DecodeOnly until no job with one is left", was.Codec)
	default:
		c.add(Safe, queue, was.Name, "has the codec %s now, and had %s: see that it reads what that wrote", now.Codec, was.Codec)
	}
}
