package redisq

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/wire"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// input collects what is wrong with the arguments of a call, so that one error
// names it all, before anything is sent.
type input struct {
	op, queue string
	base      error
	problems  []error
}

// check begins the examination of a call's arguments with the queue's name.
func (s *Store) check(op, queue string) *input {
	_, err := s.base(queue)
	return &input{op: op, queue: queue, base: err}
}

// that notes a problem unless ok.
func (in *input) that(ok bool, format string, args ...any) *input {
	if !ok {
		in.problems = append(in.problems, fmt.Errorf(format, args...))
	}
	return in
}

func (in *input) id(id string) *input { return in.that(id != "", "the job's id is empty") }

func (in *input) json(what string, text []byte) *input {
	return in.that(json.Valid(text), "the %s is not JSON: encode it with json.Marshal", what)
}

// notNegative checks a number for which zero has a meaning of its own.
func (in *input) notNegative(what string, n int, zero string) *input {
	return in.that(n >= 0, "the %s is %d: give 0 for %s, or more", what, n, zero)
}

func (in *input) time(what string, t time.Time) *input {
	return in.that(!t.IsZero(), "the time %s is not set: give time.Now() for all there is", what)
}

func (in *input) priority(p int) *input {
	return in.that(p >= 0 && p <= wire.MaxPriority, "the priority %d is not one of 0 to %d", p, wire.MaxPriority)
}

// err is one error with all problems, or nil.
func (in *input) err() error {
	if in.base == nil && in.problems == nil {
		return nil
	}
	var rest error
	if in.problems != nil {
		rest = fmt.Errorf("bullmq: %s on queue %q: %w", in.op, in.queue, errors.Join(in.problems...))
	}
	return storage.OfKind(storage.ErrInvalid, errors.Join(in.base, rest))
}
