// Package guard calls functions of the program that uses the library: handlers,
// hooks, keys, codecs, clocks, loggers. Whatever such a function does instead of
// returning, a panic or the end of its goroutine (runtime.Goexit, which
// testing.T.FailNow calls), becomes an error, and its caller goes on.
package guard

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Panic is what a function did instead of returning.
type Panic struct {
	// What names the function: "the hook Completed". It may be empty for a panic.
	What string
	// Value is that of the panic; nil: the function ended its goroutine.
	Value any
	Stack string
}

func (e *Panic) Error() string {
	switch {
	case e.Value == nil:
		return e.What + " ended its goroutine with runtime.Goexit"
	case e.What == "":
		return "panic: " + text(e.Value)
	}
	return e.What + " panicked: " + text(e.Value)
}

// Call calls f and makes an error of its panic. It is for functions that run on a
// goroutine of the program's own, or where somebody else sees that the goroutine
// ends: it cannot stop that.
func Call(what string, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Panic{what, r, string(debug.Stack())}
		}
	}()
	return f()
}

// Apart calls f on a goroutine of its own and waits for it, so that the end of
// that goroutine is an error like a panic.
func Apart(what string, f func() error) (err error) {
	done := make(chan error, 1)
	go func() {
		returned := false
		defer func() {
			if r := recover(); r != nil {
				done <- &Panic{what, r, string(debug.Stack())}
			} else if !returned {
				done <- &Panic{What: what}
			}
		}()
		err := f()
		returned = true
		done <- err
	}()
	return <-done
}

// Text is the text of an error that the program made, whatever its methods do.
func Text(err error) string {
	var s string
	what := fmt.Sprintf("the method Error of a %T", err)
	if problem := Apart(what, func() error { s = err.Error(); return nil }); problem != nil {
		return problem.Error()
	}
	return s
}

// text is that of the value of a panic. Package fmt takes panics of its methods,
// but not the end of the goroutine.
func text(value any) string {
	var s string
	if Apart("", func() error { s = fmt.Sprint(value); return nil }) != nil {
		return fmt.Sprintf("a %T without text", value)
	}
	return s
}

// StackOf is the stack of a panic that became an error, or empty.
func StackOf(err error) string {
	var p *Panic
	if errors.As(err, &p) && p.Stack != "" {
		return err.Error() + "\n" + p.Stack
	}
	return ""
}
