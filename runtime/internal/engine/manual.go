package engine

import (
	"context"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/ledger"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/runner"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// The calls of this file take and settle jobs for a program that does it by hand.
// The engine is not started then, and its ledger holds nothing.

// BeginManual makes the engine ready for calls by hand.
func (e *Engine) BeginManual() { e.runner.Begin(context.Background()) }

// Take takes up to n jobs, without waiting for any.
func (e *Engine) Take(ctx context.Context, n int) ([]*runner.Job, *storage.SettleReply, error) {
	req := e.lanes.Request(n)
	at := time.Now()
	// An answer that is thrown away may hold jobs: the call is not cut off.
	reply, err := e.Store.Settle(context.WithoutCancel(ctx), e.Queue, &req)
	if err != nil {
		return nil, nil, err
	}
	jobs := make([]*runner.Job, len(reply.Jobs))
	for i, record := range reply.Jobs {
		jobs[i] = e.runner.AdoptOne(record, req.Token, at)
	}
	return jobs, reply, nil
}

// Settle stores the outcome of a job. While the storage is away it tries again, as
// long as the job's lock lasts. Refused is why the storage refused the outcome.
func (e *Engine) Settle(ctx context.Context, j *runner.Job, outcome storage.Settlement) (refused, err error) {
	req := e.lanes.Request(0)
	req.Settle = []storage.Settlement{outcome}
	var reply *storage.SettleReply
	err = e.runner.Insist(ctx, j, outage.SettleAndTake, false, func(ctx context.Context) (err error) {
		reply, err = e.Store.Settle(ctx, e.Queue, &req)
		req.Again = true
		return err
	})
	if err != nil {
		return nil, err
	}
	if reply.Errs[0] == nil {
		j.SetGone()
	}
	return reply.Errs[0], nil
}

// Finish does for a job what happens when a handler returns.
func (e *Engine) Finish(ctx context.Context, j *runner.Job, value []byte, err error) (refused, problem error) {
	outcome := e.runner.Decide(j, value, err)
	if problem := e.runner.Hold(ctx, j, err); problem != nil {
		return nil, problem
	}
	return e.Settle(ctx, j, outcome)
}

// Extend makes the lock of a job last from now.
func (e *Engine) Extend(ctx context.Context, j *runner.Job) error {
	at := time.Now()
	lost, err := e.Store.Renew(ctx, e.Queue, []storage.Lock{{ID: j.Record.ID, Token: j.Token}}, e.Lock)
	switch {
	case err != nil:
		return err
	case len(lost) > 0:
		return &storage.Error{Op: "extend lock", Queue: e.Queue, Job: j.Record.ID, Err: storage.ErrLockLost}
	}
	e.ledger.SetRenewed([]*ledger.Job{&j.Job}, at)
	return nil
}
