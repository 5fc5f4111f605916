// Package diag collects diagnostics about a program's source, with their
// positions.
package diag

import (
	"cmp"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// Severity determines whether a diagnostic stops the run.
type Severity uint8

// An Error stops the run; a Warning does not.
const (
	Error Severity = iota
	Warning
)

// Diagnostic is one message about the source.
type Diagnostic struct {
	Pos      token.Position
	Severity Severity
	Message  string
	// Old is the text at Pos that New should replace. Both are "" if there is no
	// suggestion.
	Old, New string
}

// List collects diagnostics. The zero value is ready for use.
type List struct {
	// Base is the folder that file names are relative to.
	Base string
	all  []Diagnostic
}

// Errorf adds an error. The message says what is wrong and what to do. Positions
// among the arguments are written with relative file names.
func (l *List) Errorf(pos token.Position, format string, args ...any) {
	l.add(pos, Error, format, args)
}

// Warnf adds a warning.
func (l *List) Warnf(pos token.Position, format string, args ...any) {
	l.add(pos, Warning, format, args)
}

// Suggest adds a suggestion to the last diagnostic: replace old, the text at its
// position, with new. It does nothing if new is "".
func (l *List) Suggest(old, new string) {
	if new == "" {
		return
	}
	last := &l.all[len(l.all)-1]
	last.Old, last.New = old, new
}

func (l *List) add(pos token.Position, s Severity, format string, args []any) {
	args = slices.Clone(args)
	for i, a := range args {
		if p, ok := a.(token.Position); ok {
			args[i] = l.short(p)
		}
	}
	message := fmt.Sprintf(format, args...)
	if l.Base != "" { // what others say may name files too
		message = strings.ReplaceAll(message, l.Base+string(filepath.Separator), "")
	}
	l.all = append(l.all, Diagnostic{Pos: l.short(pos), Severity: s, Message: message})
}

// short names the file relative to Base, with slashes on every system, unless
// it lies elsewhere.
func (l *List) short(pos token.Position) token.Position {
	pos.Filename = short(l.Base, pos.Filename, string(filepath.Separator))
	return pos
}

// short is the rule for file names of a system with that separator, where
// systems with backslashes do not tell letters' cases apart.
func short(base, file, separator string) string {
	if n := len(strings.TrimSuffix(base, separator)) + len(separator); base != "" && len(file) > n {
		prefix := strings.TrimSuffix(base, separator) + separator
		if file[:n] == prefix || separator == `\` && strings.EqualFold(file[:n], prefix) {
			file = file[n:]
		}
	}
	return strings.ReplaceAll(file, separator, "/")
}

// Join adds what another list with the same Base has.
func (l *List) Join(other *List) { l.all = append(l.all, other.all...) }

// JoinErrors adds the errors of another list with the same Base, and leaves its
// warnings out.
func (l *List) JoinErrors(other *List) {
	for _, d := range other.all {
		if d.Severity == Error {
			l.all = append(l.all, d)
		}
	}
}

// Errors is how many errors there are.
func (l *List) Errors() int {
	n := 0
	for _, d := range l.all {
		if d.Severity == Error {
			n++
		}
	}
	return n
}

// Failed is true when there is an error.
func (l *List) Failed() bool { return l.Errors() > 0 }

// Sorted returns all diagnostics by position, each once.
func (l *List) Sorted() []Diagnostic {
	all := slices.Clone(l.all)
	slices.SortStableFunc(all, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.Pos.Filename, b.Pos.Filename),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column),
			cmp.Compare(a.Severity, b.Severity),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(all)
}

// Short is the name of a file as messages write it.
func (l *List) Short(file string) string {
	return l.short(token.Position{Filename: file}).Filename
}
