package model

import (
	"go/token"
	"slices"
)

// Output is a Go package that is generated.
type Output struct {
	Dir  string // absolute
	Path string // import path
	Name string
	// Packages are those whose API goes into it, each into a file of its own.
	Packages []*Package
	// Existing is what other files of the package declare.
	Existing []Declared
}

// Flows is true when a task of the output has children.
func (o *Output) Flows() bool {
	for _, p := range o.Packages {
		if slices.ContainsFunc(p.Tasks, (*Task).Parent) {
			return true
		}
	}
	return false
}

// Declared is a name that a file of the output declares and that is not
// generated in this run.
type Declared struct {
	Name string
	Pos  token.Position
}

// Declares is what the generated code declares for others to use.
func (t *Task) Declares() []string {
	n := t.GoName
	names := []string{t.Var(), "Enqueue" + n, "Handle" + n}
	if t.Parent() {
		names = append(names, n+"Flow", n+"Results", "read"+n+"Results")
	} else {
		names = append(names, "EnqueueMany"+n)
	}
	if t.Grows() {
		names = append(names, "Add"+n+"Children")
	}
	if t.InFlow() {
		names = append(names, n+"Node", "Flow"+n)
	}
	return names
}

// Scheduled is true when a task of the package has a schedule.
func (p *Package) Scheduled() bool {
	return slices.ContainsFunc(p.Tasks, func(t *Task) bool { return len(t.Schedules) > 0 })
}

// Declares is what the generated code of the package's schedules declares.
func (p *Package) Declares() []string {
	if !p.Scheduled() {
		return nil
	}
	return []string{"EnsureSchedules", "PruneSchedules", "Schedules"}
}

// Var is the generated variable that holds the task.
func (t *Task) Var() string { return t.GoName + "Task" }

// Declares is what the generated code declares for others to use.
func (q *Queue) Declares() []string {
	names := []string{q.Ident + "Queue"}
	if len(q.Tasks) > 0 {
		names = append(names, q.Ident+"Handler", "Unimplemented"+q.Ident+"Handler", q.Handle)
	}
	return names
}
