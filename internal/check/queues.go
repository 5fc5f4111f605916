package check

import (
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/naming"
)

// join puts each task to its queue, and makes a queue of each name that only
// tasks mention.
func join(p *model.Package, l *diag.List) {
	byName := map[string]*model.Queue{}
	var declared []*model.Queue
	for _, q := range p.Queues {
		if before := byName[q.Name]; before != nil {
			l.Errorf(q.Pos, "queue %q is declared twice: the other declaration is at %v", q.Name, before.Pos)
			continue
		}
		byName[q.Name] = q
		declared = append(declared, q)
	}
	p.Queues = declared
	for _, t := range p.Tasks {
		if t.Queue == "" || t.Name == "" {
			continue // reported already
		}
		q := byName[t.Queue]
		if q == nil {
			q = &model.Queue{Name: t.Queue, Pos: t.Pos}
			byName[q.Name] = q
			p.Queues = append(p.Queues, q)
		}
		q.Tasks = append(q.Tasks, t)
	}
	for _, q := range p.Queues {
		slices.SortFunc(q.Tasks, func(a, b *model.Task) int { return strings.Compare(a.GoName, b.GoName) })
		name(q, l)
	}
	slices.SortFunc(p.Queues, func(a, b *model.Queue) int { return strings.Compare(a.Ident+a.Name, b.Ident+b.Name) })
}

// name chooses what the names that are generated for the queue have in common:
// the name of its constant, or else a name made of the queue's.
func name(q *model.Queue, l *diag.List) {
	from := q.Name
	if q.GoName != "" {
		from = strings.TrimSuffix(q.GoName, "Queue")
		if from == "" {
			from = q.GoName
		}
	}
	q.Ident = naming.Exported(from)
	switch {
	case q.Ident != "" || q.Name == "":
	case q.GoName != "":
		l.Errorf(q.Pos, "constant %s gives no exported Go name: begin it with a letter that has a capital form", q.GoName)
	default:
		l.Errorf(q.Pos, "queue %q gives no Go name: declare it under one, //bullmq:queue above const SomeName = %q", q.Name, q.Name)
	}
	q.Handle = "Handle" + q.Ident
	for _, t := range q.Tasks {
		if t.GoName == q.Ident {
			q.Handle += "Queue" // the task of that name has the short one
		}
	}
}

// tasksOfQueue checks the names that the tasks of a queue go by.
func tasksOfQueue(p *model.Package, l *diag.List) {
	for _, q := range p.Queues {
		if len(q.Tasks) == 0 {
			l.Warnf(q.Pos, "queue %q has no tasks in this package%s", q.Name, nearQueue(p, q))
		}
		names := map[string]*model.Task{}
		for _, t := range q.Tasks {
			if before := names[t.Name]; before != nil {
				l.Errorf(t.Pos, "task %s/%s is declared twice: the other declaration is at %v", q.Name, t.Name, before.Pos)
				continue
			}
			names[t.Name] = t
		}
		for _, t := range q.Tasks {
			for _, a := range t.Aliases {
				if other := names[a.Name]; other != nil && other != t {
					l.Errorf(a.Pos, "alias %q is the name of another task of queue %q, at %v", a.Name, q.Name, other.Pos)
					continue
				}
				names[a.Name] = t
			}
		}
		upgradeNames(q, names, l)
	}
}

func nearQueue(p *model.Package, q *model.Queue) string {
	var others []string
	for _, o := range p.Queues {
		if o != q && len(o.Tasks) > 0 {
			others = append(others, o.Name)
		}
	}
	if near := naming.Nearest(q.Name, others); near != "" {
		return "; did you mean \"" + near + "\"?"
	}
	return ": a task names its queue as //bullmq:task " + q.Name + "/NAME"
}
