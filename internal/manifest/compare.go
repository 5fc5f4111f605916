package manifest

import (
	"cmp"
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
// Either may be nil. That a package was moved does not matter to anybody.
func Compare(old, now *Document) []Change {
	c := &comparison{old: old.byQueue(), now: now.byQueue()}
	for name, queue := range c.old {
		for _, t := range queue.tasks {
			c.task(name, t)
		}
	}
	for name, queue := range c.now {
		was := c.old[name]
		if was == nil {
			c.add(Safe, name, "", "the queue is new")
		} else if !reflect.DeepEqual(was.settings, queue.settings) {
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
	return c.changes
}

// queueTasks are the tasks of a queue from all packages.
type queueTasks struct {
	tasks    []*Task
	settings []any
}

func (d *Document) byQueue() map[string]*queueTasks {
	all := map[string]*queueTasks{}
	if d == nil {
		return all
	}
	for _, p := range d.Packages {
		for _, q := range p.Queues {
			if all[q.Name] == nil {
				all[q.Name] = &queueTasks{}
			}
			all[q.Name].tasks = append(all[q.Name].tasks, q.Tasks...)
			if q.Worker != nil || q.Default != nil {
				all[q.Name].settings = append(all[q.Name].settings, q.Worker, q.Default)
			}
		}
	}
	return all
}

func (q *queueTasks) find(name string) *Task {
	if q == nil {
		return nil
	}
	for _, t := range q.tasks {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// heir is the task that takes jobs of the name as an alias, or with an upgrade.
func (q *queueTasks) heir(name string) (*Task, *Upgrade) {
	for _, t := range q.all() {
		if slices.Contains(t.Aliases, name) {
			return t, nil
		}
		for _, u := range t.Upgrades {
			if u.Name == name {
				return t, u
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

// task looks for what has become of a task.
func (c *comparison) task(queue string, was *Task) {
	now := c.now[queue].find(was.Name)
	var upgrade *Upgrade
	if now == nil {
		if now, upgrade = c.now[queue].heir(was.Name); now == nil {
			c.gone(queue, was)
			return
		}
		by := "has its alias"
		if upgrade != nil {
			by = "upgrades its jobs"
		}
		c.add(Safe, queue, was.Name, "is %s now, which %s: deploy workers before producers", now.Name, by)
	}
	if !reflect.DeepEqual(was.Options, now.Options) || !reflect.DeepEqual(was.Keys, now.Keys) {
		c.add(Safe, queue, was.Name, "options of new jobs have changed")
	}
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

func (q *queueTasks) all() []*Task {
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
	s := newShapes(was.Result, now.Result)
	s.compare("result", was.Result, now.Result)
	for _, d := range s.found {
		if d.harmless {
			c.add(Safe, queue, was.Name, "%s %s", d.path, d.what)
		} else {
			c.add(Breaking, queue, was.Name, "%s %s, and programs of the old version read it: %s, %s", d.path, d.what, d.cure, renaming)
		}
	}
}
