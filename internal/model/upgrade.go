package model

import "go/token"

// Upgrade is a function that converts payloads of an earlier name of a task,
// with one upgrade directive: a function with two stands for two upgrades.
type Upgrade struct {
	From string
	Pos  token.Position // of the name, or of the directive when it lacks one

	GoName  string         // the function's name
	FuncPos token.Position // of the function's name

	// Old and New are what the function takes and returns. They are nil when it
	// is none that can be called so, which is reported already.
	Old, New       *Type
	OldPos, NewPos token.Position
	// Fails is true when the function also returns an error.
	Fails bool
}

// EarlierNames are the names other than its own whose jobs are the task's.
func (t *Task) EarlierNames() []string {
	names := t.AliasNames()
	for _, u := range t.Upgrades {
		names = append(names, u.From)
	}
	return names
}

// Codec is what changes the payloads and results of a task on their way to the
// storage and back: a variable, or a function that returns it.
type Codec struct {
	GoName string
	Pos    token.Position // of the name in the directive
	// Call is true for a function.
	Call bool
}
