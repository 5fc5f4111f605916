package model

import "go/token"

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

// Declared is a name that a file of the output declares and that is not
// generated in this run.
type Declared struct {
	Name string
	Pos  token.Position
}

// Declares is what the generated code declares for others to use.
func (t *Task) Declares() []string {
	n := t.GoName
	return []string{t.Var(), "Enqueue" + n, "EnqueueMany" + n, "Handle" + n}
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
