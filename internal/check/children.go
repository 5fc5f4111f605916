package check

import (
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/directive"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/naming"
)

// declared is a declared type, by the path of its package and its name.
type declared struct{ path, name string }

// member is a task with what it belongs to.
type member struct {
	pkg   *model.Package
	queue *model.Queue
	task  *model.Task
}

// linker finds the tasks of slots.
type linker struct {
	l *diag.List
	// tasks are those of packages that are known.
	tasks map[declared]member
	// packages are the paths of packages that are known, with tasks.
	packages map[string]bool
	// alone is that of Options.
	alone bool
	// here is the package of the task that is looked at.
	here *model.Package
}

// children fills in the slots of all tasks, and checks them. What is wrong with
// those of the others goes to of.
func children(packages, others []*model.Package, o Options, l, of *diag.List) {
	c := &linker{alone: o.Alone, tasks: map[declared]member{}, packages: map[string]bool{}}
	all := slices.Concat(packages, others)
	for _, p := range all {
		c.packages[p.Path] = true
		queues := map[*model.Task]*model.Queue{}
		for _, q := range p.Queues {
			for _, t := range q.Tasks {
				queues[t] = q
			}
		}
		for _, t := range p.Tasks {
			c.tasks[declared{p.Path, t.GoName}] = member{p, queues[t], t}
		}
	}
	for i, p := range all {
		c.here, c.l = p, l
		if i >= len(packages) {
			c.l = of
		}
		for _, t := range p.Tasks {
			if t.Children != nil && c.holdsSlots(t) {
				c.slots(t)
			}
		}
	}
	for _, p := range packages {
		for _, t := range p.Tasks {
			flow(t, l)
		}
	}
	cycles(all, l)
}

// task finds the task of a type, or of the one that an alias stands for.
func (c *linker) task(t *model.Type) (found member, ok bool) {
	for ; t != nil && len(t.Args) == 0; t = t.Alias {
		if found, ok = c.tasks[declared{t.Path, t.Name}]; ok {
			return found, true
		}
	}
	return member{}, false
}

// written is a type as one writes it in the package that is looked at.
func (c *linker) written(t *model.Type) string {
	return strings.ReplaceAll(t.String(), c.here.Name+".", "")
}

// holdsSlots reports what children= names if it is no struct of slots.
func (c *linker) holdsSlots(t *model.Task) bool {
	s, actual := t.Children, t.Children.Actual()
	example := "type " + t.GoName + "Children struct { Parts []Part }, with a task for Part"
	refuse := func(format string, args ...any) bool {
		c.l.Errorf(t.ChildrenPos, "children=%s "+format, append([]any{c.written(s)}, args...)...)
		return false
	}
	if task, ok := c.task(s); ok {
		return refuse("is a task itself, at %v, and children= names a struct whose fields are tasks: declare %s", task.task.TypePos, example)
	}
	switch {
	case actual.Kind == model.Invalid:
		return refuse("does not compile: %s", actual.Why)
	case s.Params > 0:
		return refuse("is a generic type without type arguments: write %s[T]", c.written(s))
	case actual.Kind == model.Pointer && actual.Elem.Actual().Kind == model.Struct:
		return refuse("is a pointer: write children=%s", c.written(actual.Elem))
	case actual.Kind != model.Struct:
		return refuse("is no struct, and its fields are what tells slots apart: declare %s", example)
	case len(actual.Fields) == 0:
		return refuse("has no fields: give it one for each slot, such as Parts []Part, or leave children out")
	}
	return true
}

// slots makes a slot of each field of the struct that children= names.
func (c *linker) slots(t *model.Task) {
	var names naming.Scope[*model.Slot]
	for _, f := range t.Children.Actual().Fields {
		s := &model.Slot{Name: naming.Slot(f.Name), Field: f, Pos: f.Pos}
		if !f.Source {
			s.Pos = t.ChildrenPos
		}
		switch {
		case f.Embedded:
			c.l.Errorf(s.Pos, "%s is embedded in %s, and a slot needs a name of its own: write %s and then the type", f.Name, c.written(t.Children), f.Name)
			continue
		case !f.Exported:
			c.l.Errorf(s.Pos, "slot %s is not exported, so the generated package cannot have it: begin its name with a capital letter", f.Name)
			continue
		case !naming.SlotName(s.Name):
			c.l.Errorf(s.Pos, "slot %s would be stored as %q: use the letters a to z, digits and _ for its name", f.Name, s.Name)
			continue
		}
		if other, ok := names.Take(s.Name, s); !ok {
			c.l.Errorf(s.Pos, "slots %s and %s would both be stored as %q: rename one of them", other.Field.Name, f.Name, s.Name)
			continue
		}
		c.onFail(s)
		if c.child(s) {
			t.Slots = append(t.Slots, s)
		}
	}
}

// child finds the task of a slot's children, and how many there are.
func (c *linker) child(s *model.Slot) bool {
	s.Type = s.Field.Type
	if found, ok := c.task(s.Type); ok {
		return c.link(s, model.One, found)
	}
	switch actual := s.Type.Actual(); actual.Kind {
	case model.Invalid:
		c.l.Errorf(s.Pos, "slot %s has a type that does not compile: %s", s.Field.Name, actual.Why)
		return false
	case model.Pointer:
		s.Kind, s.Type = model.Optional, actual.Elem
	case model.Slice:
		s.Kind, s.Type = model.Many, actual.Elem
	case model.Map:
		s.Kind, s.Type = model.Keyed, actual.Elem
		if actual.Key.Actual().Name != "" || actual.Key.Actual().Kind != model.String {
			c.l.Errorf(s.Pos, "slot %s has keys of type %s, but the keys of children are strings: write map[string]%s", s.Field.Name, c.written(actual.Key), c.written(actual.Elem))
			return false
		}
	}
	if found, ok := c.task(s.Type); ok {
		return c.link(s, s.Kind, found)
	}
	c.noTask(s)
	return false
}

func (c *linker) link(s *model.Slot, kind model.SlotKind, found member) bool {
	s.Kind, s.Task, s.Queue, s.Package = kind, found.task, found.queue, found.pkg
	return found.queue != nil // nil: its task has no name, which is reported already
}

// noTask says why a slot's type is none.
func (c *linker) noTask(s *model.Slot) {
	name, t := s.Field.Name, s.Type
	seen := map[*model.Type]bool{}
	for actual := t.Actual(); actual.Elem != nil && !seen[actual]; actual = actual.Elem.Actual() {
		seen[actual] = true
		if _, ok := c.task(actual.Elem); ok {
			child := c.written(actual.Elem)
			c.l.Errorf(s.Pos, "slot %s has type %s, which is none of the forms of a slot: write %s for exactly one child, *%s for one or none, []%s for any number, or map[string]%s for children by key",
				name, c.written(s.Field.Type), child, child, child, child)
			return
		}
	}
	switch {
	case t.Name == "" || t.Path == "":
		c.l.Errorf(s.Pos, "slot %s has type %s, but a slot is for jobs of a task: give it a type with //bullmq:task above it", name, c.written(s.Field.Type))
	case c.packages[t.Path]:
		c.l.Errorf(s.Pos, "slot %s: type %s is no task: write //bullmq:task QUEUE/NAME above it, at %v", name, c.written(t), t.Pos)
	case !c.alone:
		c.l.Errorf(s.Pos, "slot %s: type %s is no task: write //bullmq:task QUEUE/NAME above it, in package %s", name, c.written(t), t.Path)
	}
}

// onFail reads the policy in a slot's tag.
func (c *linker) onFail(s *model.Slot) {
	if _, err := directive.ParseTag(s.Field.Tag); s.Field.Source && err != nil {
		c.l.Errorf(s.Field.TagPos, "slot %s: %v", s.Field.Name, err)
		return
	}
	errors := c.l.Errors()
	for _, w := range s.Field.Words {
		if !s.Field.Source {
			w.Pos = s.Pos
		}
		c.word(s, w)
	}
	if s.OnFail == "" && c.l.Errors() == errors {
		c.l.Warnf(s.Pos, "slot %s does not say what the job does when a child fails, so that it may wait for ever: add the tag `bullmq:\"onfail=fail\"`, or continue, ignore or remove, or wait if that is meant", s.Field.Name)
	}
}

// word reads one word of a slot's tag.
func (c *linker) word(s *model.Slot, w model.Word) {
	policy, ok := directive.OnFail(w.Text)
	switch {
	case policy != "" && s.OnFail != "":
		c.l.Errorf(w.Pos, "slot %s has more than one policy, %s and %s: choose one", s.Field.Name, s.OnFail, policy)
	case policy != "" && !ok:
		c.l.Errorf(w.Pos, "the policy %q lacks its key: write onfail=%s", policy, policy)
	case policy != "":
		s.OnFail = policy
	case ok:
		c.l.Errorf(w.Pos, "unknown policy in %q%s", w.Text, directive.NearPolicy(w.Text))
		if near := naming.Nearest(strings.TrimPrefix(w.Text, model.WordOnFail), model.Policies); near != "" {
			c.l.Suggest(w.Text, model.WordOnFail+near)
		}
	default:
		c.l.Errorf(w.Pos, "unknown word %q in the bullmq tag of slot %s%s", w.Text, s.Field.Name, directive.NearSlotWord(w.Text))
	}
}
