package check

import (
	"go/token"
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/naming"
)

// upgrades puts each upgrade to the task whose payloads it makes, and checks
// what it takes.
func upgrades(p *model.Package, payloads map[*model.Type]bool, o Options, l *diag.List) {
	checked := map[*model.Type]bool{} // a function may have several directives
	for _, u := range p.Upgrades {
		if !token.IsExported(u.GoName) {
			l.Errorf(u.FuncPos, "func %s is not exported, so the generated package cannot call it: begin its name with a capital letter", u.GoName)
		}
		if u.Old == nil {
			continue // reported already
		}
		t := target(p, u, l)
		if t == nil || t.Broken || pointers(u, l) {
			continue
		}
		if u.Old.Actual() == t.Payload.Actual() {
			l.Errorf(u.OldPos, "func %s converts %s into itself: declare the payload as it was under a name of its own, such as %sV1, or write //bullmq:alias %s above %s if it has not changed", u.GoName, t.GoName, t.GoName, orName(u.From), t.GoName)
			continue
		}
		if !checked[u.Old] {
			checked[u.Old] = true
			w := &walk{l: l, payloads: payloads, typescript: o.TypeScript, old: true, seen: map[visit]bool{}}
			payload(&model.Task{GoName: local(p, u.Old), TypePos: u.OldPos, Payload: u.Old}, w, l)
		}
		t.Upgrades = append(t.Upgrades, u)
	}
	for _, t := range p.Tasks {
		slices.SortStableFunc(t.Upgrades, func(a, b *model.Upgrade) int { return strings.Compare(a.From, b.From) })
	}
}

func orName(from string) string {
	if from == "" {
		return "NAME"
	}
	return from
}

// local is the type as the package itself writes it.
func local(p *model.Package, t *model.Type) string {
	if t.Path == p.Path && len(t.Args) == 0 {
		return t.Name
	}
	return t.String()
}

// pointers reports a pointer where an upgrade takes or returns a payload.
func pointers(u *model.Upgrade, l *diag.List) bool {
	found := false
	for _, side := range []struct {
		t    *model.Type
		pos  token.Position
		does string
	}{{u.Old, u.OldPos, "takes"}, {u.New, u.NewPos, "returns"}} {
		if t := side.t.Actual(); t.Kind == model.Pointer && t.Name == "" {
			l.Errorf(side.pos, "func %s %s a pointer, and payloads are passed by value: write %s", u.GoName, side.does, t.Elem.Name)
			found = true
		}
	}
	return found
}

// target is the task whose payloads the upgrade makes, or nil.
func target(p *model.Package, u *model.Upgrade, l *diag.List) *model.Task {
	made := u.New
	if made.Kind == model.Pointer && made.Name == "" {
		made = made.Elem // which is reported once the task is known
	}
	var same []*model.Task
	var names []string
	for _, t := range p.Tasks {
		if made.Path == p.Path && made.Name == t.GoName {
			return t
		}
		if made.Actual() == t.Payload.Actual() {
			same = append(same, t)
		}
		names = append(names, t.GoName)
	}
	switch len(same) {
	case 1:
		return same[0]
	case 0:
		l.Errorf(u.NewPos, "func %s returns %s, which is no task of this package: %s", u.GoName, local(p, u.New), next(p, u, names))
	default:
		l.Errorf(u.NewPos, "func %s returns %s, which is the payload of the tasks %s and %s: return one of these names", u.GoName, local(p, u.New), same[0].GoName, same[1].GoName)
	}
	return nil
}

// next says what an upgrade that makes no task's payload should do instead.
func next(p *model.Package, u *model.Upgrade, names []string) string {
	for _, other := range p.Upgrades {
		if other.Old != nil && other.Old.Actual() == u.New.Actual() && other.New != nil {
			return "an upgrade leads to the present payload: call " + other.GoName + " in it and return " + local(p, other.New)
		}
	}
	if near := naming.Nearest(u.New.Name, names); near != "" {
		return "did you mean " + near + "?"
	}
	return "return a type with a //bullmq:task line"
}

// upgradeNames checks the names that upgrades take over. Names are those of the
// queue's tasks and their aliases.
func upgradeNames(q *model.Queue, names map[string]*model.Task, l *diag.List) {
	upgraded := map[string]*model.Upgrade{}
	for _, t := range q.Tasks {
		for _, u := range t.Upgrades {
			before, holder := upgraded[u.From], names[u.From]
			switch {
			case u.From == "": // reported already
			case before != nil:
				l.Errorf(u.Pos, "jobs of the name %q are upgraded by func %s already, at %v: remove one of the two", u.From, before.GoName, before.Pos)
			case u.From == t.Name:
				l.Errorf(u.Pos, "%q is the present name of %s: give it a new one, //bullmq:task %s/NEW-NAME, so that old jobs can be told from new ones", u.From, t.GoName, q.Name)
			case holder == t:
				l.Errorf(u.Pos, "%q is an alias of %s too, whose jobs are not converted: remove the alias, or this upgrade", u.From, t.GoName)
			case holder != nil:
				l.Errorf(u.Pos, "jobs of the name %q belong to task %s of queue %q, at %v: remove that name there, or write another one here", u.From, holder.GoName, q.Name, holder.Pos)
			}
			upgraded[u.From] = u
		}
	}
}
