package bullmq

import (
	"context"
	"fmt"
	"reflect"

	"github.com/bullmq-gen/bullmq-gen/internal/jsjson"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Step runs a part of a handler once for its job: its result is kept with the
// job, and whenever the job runs again, because an attempt failed, its worker
// vanished, it waited for children or was delayed, a step that has a result
// gives that and does nothing. So a handler made of steps goes on where it was.
//
//	receipt, err := bullmq.Step(ctx, job, "charge", func(ctx context.Context) (Receipt, error) {
//		return bank.Charge(ctx, job.Data.Card, job.Data.Cents)
//	})
//
// The name tells steps of one handler apart: the same name is the same step, and
// a step in a loop has the number of the round in its name. A step that returns
// an error is run again by the next attempt. A result is stored for as long as the
// lock of the job lasts, however often the storage is away meanwhile; when it could
// not be stored, the step runs again: what it does must be idempotent.
//
// Results are JSON; they are kept until the job completes or is removed, in
// fields of the job's own that Node workers ignore: a job that moves between
// workers of both kinds keeps its steps, but only Go handlers know them. A
// completed job that is retried begins anew.
func Step[T any](ctx context.Context, job AnyJob, name string, do func(context.Context) (T, error)) (T, error) {
	var result T
	j := job.active()
	if err := j.usable(); err != nil {
		return result, err
	}
	if name == "" {
		return result, Unrecoverable(storage.Invalid("a step needs a name"))
	}
	if kept, ok := j.step(name); ok {
		kept, err := j.code.decode(kept, CodecInfo{j.Queue, j.Name, PartStep})
		if err == nil {
			err = decodeValue(kept, &result)
		}
		if err != nil {
			return result, final(malformed("result of step %q, kept by an earlier run: %w", name, err))
		}
		return result, nil
	}
	if ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	if err := jsjson.Check(reflect.TypeFor[T]()); err != nil { // before anything is done
		return result, Unrecoverable(fmt.Errorf("result of step %q: %w", name, err))
	}
	result, err := do(ctx)
	if err != nil {
		return result, err
	}
	text, err := j.encoding(func() ([]byte, error) {
		text, err := encodeJSON(result)
		if err == nil {
			text, err = j.code.encode(text, CodecInfo{j.Queue, j.Name, PartStep})
		}
		return text, err
	})
	if err != nil {
		return result, Unrecoverable(storage.Invalid("result of step %q: %w", name, err))
	}
	return result, j.keepStep(ctx, name, text)
}

// Do is Step for what has no result.
func Do(ctx context.Context, job AnyJob, name string, do func(context.Context) error) error {
	_, err := Step(ctx, job, name, func(ctx context.Context) (None, error) { return None{}, do(ctx) })
	return err
}

// step is the result that is kept of a step.
func (j *ActiveJob) step(name string) ([]byte, bool) {
	j.stepsMu.Lock()
	defer j.stepsMu.Unlock()
	if kept, ok := j.steps[name]; ok {
		return kept, true
	}
	kept, ok := j.run.Record.Steps[name]
	return kept, ok
}

// keepStep stores a step's result. The work is done: that the handler's context
// has ended meanwhile is no reason to do it twice. Storing it again does no harm.
func (j *ActiveJob) keepStep(ctx context.Context, name string, text []byte) error {
	err := j.insist(context.WithoutCancel(ctx), outage.KeepStep, false, func(ctx context.Context) error {
		return j.worker.store.KeepStep(ctx, j.Queue, storage.Lock{ID: j.ID, Token: j.run.Token}, name, text)
	})
	if err != nil {
		return fmt.Errorf("keep the result of step %q: %w", name, err)
	}
	j.stepsMu.Lock()
	defer j.stepsMu.Unlock()
	if j.steps == nil {
		j.steps = map[string][]byte{}
	}
	j.steps[name] = text
	return nil
}
