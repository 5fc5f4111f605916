package bullmqgen

import (
	"fmt"
	"go/token"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
)

type position = token.Position

// Severity says whether a diagnostic stops the run.
type Severity string

// An error stops the run; a warning does not.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Diagnostic is one thing to be said about the source.
type Diagnostic struct {
	// File is relative to Config.Base, with slashes, if it lies below it. It is
	// empty when the message is about no file.
	File string `json:"file,omitempty"`
	// Line and Column count from 1; columns count bytes.
	Line     int      `json:"line,omitempty"`
	Column   int      `json:"column,omitempty"`
	Severity Severity `json:"severity"`
	// Message says what is wrong and how to cure it.
	Message string `json:"message"`
}

// String is the diagnostic in one line, as editors and terminals know it.
func (d Diagnostic) String() string {
	var b strings.Builder
	if d.File != "" {
		fmt.Fprintf(&b, "%s:%d:%d: ", d.File, d.Line, d.Column)
	}
	b.WriteString("bullmq: ")
	if d.Severity == SeverityWarning {
		b.WriteString("warning: ")
	}
	b.WriteString(d.Message)
	return b.String()
}

func diagnostics(l *diag.List) []Diagnostic {
	var all []Diagnostic
	for _, d := range l.Sorted() {
		all = append(all, diagnosticOf(d))
	}
	return all
}

func diagnosticOf(d diag.Diagnostic) Diagnostic {
	severity := SeverityError
	if d.Severity == diag.Warning {
		severity = SeverityWarning
	}
	return Diagnostic{d.Pos.Filename, d.Pos.Line, d.Pos.Column, severity, d.Message}
}

// Failed is true when a diagnostic is an error. There are no files then.
func (r *Result) Failed() bool {
	for _, d := range r.Diagnostics {
		if d.Severity == SeverityError {
			return true
		}
	}
	return false
}
