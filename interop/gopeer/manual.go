package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

var manualOps = ops{
	"worker.open":            act((*peer).openManual),
	"worker.getNextJob":      ask((*peer).takeByHand),
	"worker.moveToCompleted": ask(func(p *peer, a finishArgs) (*job, error) { return p.finishAndTake(a, a.Value, nil) }),
	"worker.moveToFailed":    ask(func(p *peer, a finishArgs) (*job, error) { return p.finishAndTake(a, nil, a.err()) }),
	"worker.moveToDelayed": act(func(p *peer, a finishArgs) error {
		return p.finish(a, nil, bullmq.DelayUntil(time.UnixMilli(a.Timestamp)))
	}),
	"worker.moveToWait":            act(func(p *peer, a finishArgs) error { return p.finish(a, nil, bullmq.BackToWait()) }),
	"worker.moveToWaitingChildren": ask((*peer).waitForChildren),
	"worker.extendLock":            ask((*peer).extend),
	"worker.forget":                act(func(p *peer, a jobArgs) error { p.drop(jobKey(a)); return nil }),
	"worker.stalledCheck":          act((*peer).stalledCheck),
}

// jobKey names a job that is held.
type jobKey jobArgs

// manual takes jobs by hand.
type manual struct {
	*bullmq.Manual
	queue, key string
	options    workerOptions
}

type heldJob struct {
	*bullmq.ActiveJob
	by *manual
}

func (p *peer) openManual(a startArgs) error {
	opts, err := a.options()
	if err != nil {
		return err
	}
	m := &manual{queue: a.Queue, key: a.Worker}
	if err := json.Unmarshal(orText(a.Opts, "{}"), &m.options); err != nil {
		return err
	}
	if m.Manual, err = bullmq.NewManual(p.client, a.Queue, opts...); err != nil {
		return err
	}
	p.mu.Lock()
	p.manuals[a.Worker] = m
	p.mu.Unlock()
	return nil
}

func (p *peer) manual(key string) (*manual, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.manuals[key]
	if m == nil {
		return nil, fmt.Errorf("no worker %s was opened", key)
	}
	return m, nil
}

func (p *peer) takeByHand(a struct {
	workerArgs
	Token string
}) (*job, error) {
	if a.Token != "" {
		return nil, errNotOffered{"a token of one's own"}
	}
	m, err := p.manual(a.Worker)
	if err != nil {
		return nil, err
	}
	return p.take(background, m)
}

// take takes the next job, if there is one, and holds it.
func (p *peer) take(ctx context.Context, m *manual) (*job, error) {
	jobs, err := m.TakeNow(ctx, 1)
	if err != nil || len(jobs) == 0 {
		return nil, err
	}
	p.mu.Lock()
	p.held[jobKey{m.queue, jobs[0].ID}] = &heldJob{jobs[0], m}
	p.mu.Unlock()
	return viewJob(jobs[0].Record())
}

// finishArgs say what becomes of a held job.
type finishArgs struct {
	jobArgs
	Token         *string
	Value         json.RawMessage
	Message       string
	Unrecoverable bool
	Timestamp     int64
	Opts          json.RawMessage
	Next          bool
}

func (a *finishArgs) err() error {
	if a.Unrecoverable {
		return bullmq.Unrecoverable(errors.New(a.Message))
	}
	return errors.New(a.Message)
}

func (p *peer) heldJob(k jobKey) (*heldJob, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.held[k]
	if h == nil {
		return nil, fmt.Errorf("job %s of queue %s is not held", k.ID, k.Queue)
	}
	return h, nil
}

func (p *peer) drop(k jobKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, k)
}

// finish settles a held job; it stays held when that is refused.
func (p *peer) finish(a finishArgs, value any, outcome error) error {
	_, err := p.settle(background, a, value, outcome)
	return err
}

// finishAndTake also takes the next job, in the same call, if it is asked to.
func (p *peer) finishAndTake(a finishArgs, value any, outcome error) (*job, error) {
	if !a.Next {
		return nil, p.finish(a, value, outcome)
	}
	ctx := join(background)
	m, err := p.settle(ctx, a, value, outcome)
	if err != nil {
		return nil, err
	}
	return p.take(ctx, m)
}

// settle settles a held job, and returns what held it.
func (p *peer) settle(ctx context.Context, a finishArgs, value any, outcome error) (*manual, error) {
	if a.Token != nil || len(a.Opts) > 0 {
		return nil, errNotOffered{"finishing a job with another token, or with options"}
	}
	h, err := p.heldJob(jobKey(a.jobArgs))
	if err != nil {
		return nil, err
	}
	if v, ok := value.(json.RawMessage); ok && len(v) == 0 {
		value = nil
	}
	if err := h.by.Finish(ctx, h.ActiveJob, value, outcome); err != nil {
		return nil, err
	}
	p.drop(jobKey(a.jobArgs))
	return h.by, nil
}

// waitForChildren is false when no child is pending, and the job still held.
func (p *peer) waitForChildren(a finishArgs) (bool, error) {
	err := p.finish(a, nil, bullmq.WaitForChildren())
	if errors.Is(err, bullmq.ErrNoChildren) {
		return false, nil
	}
	return err == nil, err
}

func (p *peer) extend(a jobArgs) (int, error) {
	h, err := p.heldJob(jobKey(a))
	if err != nil {
		return 0, err
	}
	err = h.by.Extend(background, h.ActiveJob)
	if errors.Is(err, bullmq.ErrLockLost) {
		return 0, nil
	}
	return number(err == nil), err
}

// stalledCheck looks for stalled jobs once.
func (p *peer) stalledCheck(a workerArgs) error {
	m, err := p.manual(a.Worker)
	if err != nil {
		return err
	}
	every, most := m.options.stalled()
	if every == 0 {
		every, most = defaultStalledInterval, defaultMaxStalled
	}
	ids, err := p.store.RecoverStalled(background, m.queue, storage.StalledRequest{Now: p.clock.now(), Interval: every, MaxStalled: most})
	for _, id := range ids {
		p.out.write(workerEvent{Event: "worker", Worker: m.key, Queue: m.queue, Name: "stalled", ID: id})
	}
	return err
}
