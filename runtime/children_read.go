package bullmq

import (
	"context"
	"fmt"
)

// Outcome is what became of a child that may have failed without its parent.
type Outcome[R any] struct {
	// Value is the child's result. It means something only when Err is nil.
	Value R
	// Err is why there is no result: a *ChildError (ErrJobFailed), ErrNoChild,
	// or, where a failed child sets its parent going at once, ErrChildPending.
	Err error
}

// Get is Value and Err, to be looked at together.
func (o Outcome[R]) Get() (R, error) { return o.Value, o.Err }

// take fills the outcome in.
func (o *Outcome[R]) take(value []byte, err error, code *coder, queue string) error {
	*o = Outcome[R]{Err: err}
	if err != nil {
		return nil
	}
	return decodeResult(code, queue, value, &o.Value)
}

// taker is an Outcome of any type.
type taker interface {
	take(value []byte, err error, code *coder, queue string) error
}

// readChild reads the result of a child into an R, which may be an Outcome.
func readChild[R any](c *ChildSet, slot string, child *Child, into *R) error {
	value, wait, err := c.value(child)
	code, queue := c.coder(slot), bareQueue(child.Queue)
	o, outcome := any(into).(taker)
	switch {
	case wait, err != nil && child.Kind == ChildPending && !outcome:
		return fmt.Errorf("slot %q: %w (%w)", slot, err, WaitForChildren())
	case outcome:
		err = o.take(value, err, code, queue)
	case err == nil:
		err = decodeResult(code, queue, value, into)
	}
	if err != nil { // another attempt finds the same
		return final(malformed("slot %q: result of child %q: %w", slot, child.Key, err))
	}
	return nil
}

// ReadOne reads the result of a slot with exactly one child. R may be an
// Outcome; else a child that failed is an unrecoverable error. A child that is
// not finished is an error with which the handler makes its job wait for it.
// All this holds for the other Read functions too.
func ReadOne[R any](c *ChildSet, slot string, into *R) error {
	list, err := c.in(slot)
	if err != nil {
		return err
	}
	if len(list) == 1 {
		return readChild(c, slot, list[0], into)
	}
	if len(list) > 1 {
		return Unrecoverable(malformed("slot %q has %d children, not one", slot, len(list)))
	}
	if o, ok := any(into).(taker); ok {
		return o.take(nil, fmt.Errorf("%w: %q", ErrNoChild, slot), nil, "")
	}
	return Unrecoverable(fmt.Errorf("%w: %q", ErrNoChild, slot))
}

// ReadOptional reads the result of a slot with one child or none; nil: none.
func ReadOptional[R any](c *ChildSet, slot string, into **R) error {
	list, err := c.in(slot)
	*into = nil
	if err != nil || len(list) == 0 {
		return err
	}
	*into = new(R)
	return ReadOne(c, slot, *into)
}

// ReadMany reads the results of a slot with any number of children, in their
// order. Children that a program added that knows no slots come last, in the
// order of their keys.
func ReadMany[R any](c *ChildSet, slot string, into *[]R) error {
	list, err := c.in(slot)
	if err != nil {
		return err
	}
	out := make([]R, len(list))
	for i, child := range list {
		if err := readChild(c, slot, child, &out[i]); err != nil {
			return err
		}
	}
	*into = out
	return nil
}

// ReadKeyed reads the results of a slot with children by key. A child that a
// program added that knows no slots has its id as key.
func ReadKeyed[R any](c *ChildSet, slot string, into *map[string]R) error {
	list, err := c.in(slot)
	if err != nil {
		return err
	}
	out := make(map[string]R, len(list))
	for _, child := range list {
		key := child.At
		if _, _, placed := placeOf(child.ID); !placed {
			key = child.ID
		}
		var r R
		if err := readChild(c, slot, child, &r); err != nil {
			return err
		}
		out[key] = r
	}
	*into = out
	return nil
}

// AnyJob is a *Job of any payload, or an *ActiveJob.
type AnyJob interface{ active() *ActiveJob }

// ChildResult reads, in a handler, the result of a slot with exactly one child. R
// may be an Outcome.
func ChildResult[R any](ctx context.Context, job AnyJob, slot string) (R, error) {
	var r R
	c, err := job.active().Children(ctx)
	if err == nil {
		err = ReadOne(c, slot, &r)
	}
	return r, err
}

// ChildResults reads, in a handler, the results of a slot with any number of
// children, in their order. R may be an Outcome.
func ChildResults[R any](ctx context.Context, job AnyJob, slot string) ([]R, error) {
	var rs []R
	c, err := job.active().Children(ctx)
	if err == nil {
		err = ReadMany(c, slot, &rs)
	}
	return rs, err
}

// HandleFlow makes w run the task's jobs with a handler that gets the results
// of the children, as read reads them.
func HandleFlow[P, R, C any](t *Task[P, R], w *Worker, read func(*ChildSet) (C, error), h func(context.Context, *Job[P], C) (R, error)) {
	if read == nil || h == nil {
		t.Handle(w, nil)
		return
	}
	t.Handle(w, func(ctx context.Context, job *Job[P]) (R, error) {
		var none R
		children, err := job.Children(ctx)
		if err != nil {
			return none, err
		}
		in, err := read(children)
		if err != nil {
			return none, err
		}
		return h(ctx, job, in)
	})
}

// NoResultFlow is NoResult for HandleFlow.
func NoResultFlow[P, C any](h func(context.Context, *Job[P], C) error) func(context.Context, *Job[P], C) (None, error) {
	if h == nil {
		return nil
	}
	return func(ctx context.Context, job *Job[P], in C) (None, error) { return None{}, h(ctx, job, in) }
}
