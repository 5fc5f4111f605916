package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
)

// Level says how bad a change is.
type Level string

// The levels. Jobs that are delayed or retried outlive a deployment, so what
// they hold is of the old shape while workers are of the new one.
const (
	Safe     Level = "safe"
	Warning  Level = "warning"     // jobs survive it, but something is to be known
	Alias    Level = "needs alias" // breaking, but for one line
	Breaking Level = "breaking"
)

// Change is one difference between two manifests.
type Change struct {
	Level Level  `json:"level"`
	Queue string `json:"queue"`
	Task  string `json:"task,omitempty"`
	// Message says what has changed, and for all but safe changes what to do.
	Message string `json:"message"`
}

// String is the change in one line.
func (c Change) String() string {
	task := c.Queue
	if c.Task != "" {
		task += "/" + c.Task
	}
	return fmt.Sprintf("%s: %s: %s", c.Level, task, c.Message)
}

// Compare says what has changed from old to now, sorted by queue and task.
// Either may be nil.
func Compare(old, now *Document) []Change {
	return CompareAll([]Located{{Document: old}}, []Located{{Document: now}})
}

// Located is a manifest, which may be nil, and where it is.
type Located struct {
	*Document
	Path string
}

// CompareAll compares all manifests of two versions of a program: by the names of
// queues and tasks, since programs know nothing else of each other. Where a
// package or an output is, and in which of them a task is declared, does not
// matter. When several have a task of one name, each is compared with the one
// that stands in the same place, or else with the one that is nearest to it.
func CompareAll(old, now []Located) []Change {
	c := &comparison{old: byQueue(old), now: byQueue(now)}
	for name, queue := range c.old {
		for _, t := range queue.tasks {
			c.nearest(name, t)
		}
	}
	for name, queue := range c.now {
		was := c.old[name]
		if was == nil {
			c.add(Safe, name, "", "the queue is new")
		} else if !slices.Equal(was.settings, queue.settings) {
			c.add(Safe, name, "", "options of the queue have changed")
		}
		for _, t := range queue.tasks {
			if was.find(t.Name) == nil && !t.succeeds(was) {
				c.add(Safe, name, t.Name, "the task is new: deploy workers before producers")
			}
		}
	}
	slices.SortFunc(c.changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(c.changes)
}

// queueTasks are the tasks of a queue from all packages.
type queueTasks struct {
	tasks    []*placed
	settings []string // sorted
}

// placed is a task and where it is declared.
type placed struct {
	*Task
	manifest, pkg string
}

func byQueue(documents []Located) map[string]*queueTasks {
	all := map[string]*queueTasks{}
	for _, d := range documents {
		if d.Document == nil {
			continue
		}
		for _, p := range d.Packages {
			for _, q := range p.Queues {
				if all[q.Name] == nil {
					all[q.Name] = &queueTasks{}
				}
				here := all[q.Name]
				for _, t := range q.Tasks {
					here.tasks = append(here.tasks, &placed{t, d.Path, p.Path})
				}
				if q.Worker != nil || q.Default != nil {
					text, _ := json.Marshal([]any{q.Worker, q.Default}) // it was read from JSON
					here.settings = append(here.settings, string(text))
				}
			}
		}
	}
	for _, q := range all {
		slices.Sort(q.settings)
		q.settings = slices.Compact(q.settings)
	}
	return all
}

func (q *queueTasks) find(name string) *Task {
	if found := q.named(name); len(found) > 0 {
		return found[0].Task
	}
	return nil
}

func (q *queueTasks) named(name string) []*placed {
	var found []*placed
	for _, t := range q.all() {
		if t.Name == name {
			found = append(found, t)
		}
	}
	return found
}

// heir is the task that takes jobs of the name as an alias, or with an upgrade.
func (q *queueTasks) heir(name string) (*Task, *Upgrade) {
	for _, t := range q.all() {
		if slices.Contains(t.Aliases, name) {
			return t.Task, nil
		}
		for _, u := range t.Upgrades {
			if u.Name == name {
				return t.Task, u
			}
		}
	}
	return nil, nil
}

type comparison struct {
	old, now map[string]*queueTasks
	changes  []Change
}

func (c *comparison) add(l Level, queue, task, format string, args ...any) {
	c.changes = append(c.changes, Change{l, queue, task, fmt.Sprintf(format, args...)})
}

// nearest compares a task with that of its name in the same place, or else with
// the one of its name from which it differs least.
func (c *comparison) nearest(queue string, was *placed) {
	same := c.now[queue].named(was.Name)
	if len(same) == 0 {
		c.renamed(queue, was.Task)
		return
	}
	for _, equal := range []func(*placed) bool{
		func(now *placed) bool { return now.manifest == was.manifest && now.pkg == was.pkg },
		func(now *placed) bool { return now.pkg == was.pkg },
		func(now *placed) bool { return now.manifest == was.manifest },
	} {
		if i := slices.IndexFunc(same, equal); i >= 0 {
			c.task(queue, was.Task, same[i].Task, nil)
			return
		}
	}
	var best []Change
	for i, now := range same {
		tried := &comparison{old: c.old, now: c.now}
		tried.task(queue, was.Task, now.Task, nil)
		if i == 0 || breaks(tried.changes) < breaks(best) {
			best = tried.changes
		}
	}
	c.changes = append(c.changes, best...)
}

func breaks(changes []Change) (n int) {
	for _, c := range changes {
		if c.Level != Safe {
			n++
		}
	}
	return n
}

// renamed looks for what has become of a task whose name there is no more.
func (c *comparison) renamed(queue string, was *Task) {
	now, upgrade := c.now[queue].heir(was.Name)
	if now == nil {
		c.gone(queue, was)
		return
	}
	by := "has its alias"
	if upgrade != nil {
		by = "upgrades its jobs"
	}
	c.add(Safe, queue, was.Name, "is %s now, which %s: deploy workers before producers", now.Name, by)
	c.task(queue, was, now, upgrade)
}

// task compares a task with what has become of it, by an upgrade or without.
func (c *comparison) task(queue string, was, now *Task, upgrade *Upgrade) {
	if !reflect.DeepEqual(was.Options, now.Options) || !reflect.DeepEqual(was.Keys, now.Keys) {
		c.add(Safe, queue, was.Name, "options of new jobs have changed")
	}
	c.keys(queue, was, now)
	c.codec(queue, was, now)
	if upgrade == nil {
		c.data(queue, was, now)
	} else {
		c.upgraded(queue, was.Name, was.Data, upgrade)
	}
	c.schedules(queue, was, now)
	c.slots(queue, was, now)
	c.earlier(queue, was, now, upgrade)
	c.result(queue, was, now)
}

// gone reports a task that the queue has no more.
func (c *comparison) gone(queue string, was *Task) {
	for _, t := range c.now[queue].all() {
		if c.old[queue].find(t.Name) == nil && t.Go.Name == was.Go.Name {
			if !fits(was.Data, t.Data) {
				c.add(Breaking, queue, was.Name, "is %s now with another payload, and jobs of the old name that are still in the queue will fail: declare the old payload as %sV1, and %s", t.Name, was.Go.Name, upgrading(was.Name, t.Go.Name))
				return
			}
			c.add(Alias, queue, was.Name, "is %s now, and jobs of the old name that are still in the queue will fail: add //bullmq:alias %s to %s", t.Name, was.Name, t.Go.Name)
			return
		}
	}
	for other, q := range c.now {
		if t := q.find(was.Name); t != nil && other != queue && t.Go.Name == was.Go.Name && c.old[other].find(t.Name) == nil {
			c.add(Breaking, queue, was.Name, "has moved to queue %s, and nobody takes jobs that are still in %s: keep the old task beside the new one until none is left", other, queue)
			return
		}
	}
	c.add(Breaking, queue, was.Name, "is gone, and jobs of it that are still in the queue will fail: keep it until none is left, or make another task take them with //bullmq:alias %s or //bullmq:upgrade from=%s", was.Name, was.Name)
}

func (q *queueTasks) all() []*placed {
	if q == nil {
		return nil
	}
	return q.tasks
}

// renaming is what can be done about a result or slots of another shape.
const renaming = "or make another task of it, and keep this one until its last job is done"

// upgrading is what makes jobs of an old name and payload good for a task.
func upgrading(name, goName string) string {
	return fmt.Sprintf("write //bullmq:upgrade from=%s above func Upgrade%s(old %sV1) (%s, error)", name, goName, goName, goName)
}

// data compares payloads. Jobs of the old shape must be good for the new task.
func (c *comparison) data(queue string, was, now *Task) {
	for _, d := range jobsDiffer(was.Data, now.Data) {
		if d.harmless {
			c.add(Safe, queue, was.Name, "%s %s", d.path, d.what)
		} else {
			c.add(Breaking, queue, was.Name, "%s %s: %s, or give the task a new name and %s", d.path, d.what, d.cure, upgrading(was.Name, now.Go.Name))
		}
	}
}

// result compares results. Programs of the old version read new results, and
// those of the new one old results.
func (c *comparison) result(queue string, was, now *Task) {
	switch {
	case was.Result == nil && now.Result == nil:
		return
	case was.Result == nil:
		c.add(Safe, queue, was.Name, "has a result now; that of jobs done before is null")
		return
	case now.Result == nil:
		c.add(Breaking, queue, was.Name, "has no result any more, and programs of the old version wait for one: keep it, %s", renaming)
		return
	}
	back := newShapes(now.Result, was.Result)
	back.reversed = true
	back.compare("result", now.Result, was.Result)
	unread := map[string]bool{}
	for _, d := range back.found {
		unread[d.path] = true
	}
	s := newShapes(was.Result, now.Result)
	s.where, s.lost = "results of jobs done before", "programs of the old version read it"
	s.compare("result", was.Result, now.Result)
	broken := map[string]bool{}
	for _, d := range s.found {
		if !d.harmless {
			broken[d.path] = true
			c.add(Breaking, queue, was.Name, "%s %s: %s, %s", d.path, d.what, d.cure, renaming)
		} else if !unread[d.path] {
			c.add(Safe, queue, was.Name, "%s %s", d.path, d.what)
		}
	}
	for _, d := range back.found {
		if !broken[d.path] {
			c.add(Breaking, queue, was.Name, "%s %s, which programs of the old version cannot read: %s, %s", d.path, d.what, d.cure, renaming)
		}
	}
}
