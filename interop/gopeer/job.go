package main

import (
	"context"
	"encoding/json"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// jobOps read and change one job.
var jobOps = withIs(ops{
	"job.get": ask(func(p *peer, a jobArgs) (*job, error) {
		r, err := p.client.Queue(a.Queue).Job(background, a.ID)
		if err != nil {
			return nil, err
		}
		return viewJob(r)
	}),
	"job.retry":   act((*peer).retry),
	"job.promote": act(func(p *peer, a jobArgs) error { return p.client.Queue(a.Queue).Promote(background, a.ID) }),
	"job.changeDelay": act(func(p *peer, a struct {
		jobArgs
		Delay float64
	}) error {
		return p.client.Queue(a.Queue).ChangeDelay(background, a.ID, millis(a.Delay))
	}),
	"job.changePriority": act(func(p *peer, a struct {
		jobArgs
		Opts struct {
			Priority int
			LIFO     bool
		}
	}) error {
		return p.client.Queue(a.Queue).ChangePriority(background, a.ID, a.Opts.Priority, when(a.Opts.LIFO, bullmq.BeforeOthers)...)
	}),
	"job.remove": act((*peer).remove),
	"job.updateData": act(func(p *peer, a struct {
		jobArgs
		Data json.RawMessage
	}) error {
		return p.client.Queue(a.Queue).UpdateData(background, a.ID, a.Data)
	}),
	"job.updateProgress":       act((*peer).setProgress),
	"queue.updateJobProgress":  act((*peer).setProgress),
	"job.log":                  ask((*peer).log),
	"queue.addJobLog":          ask((*peer).addLog),
	"job.clearLogs":            act(func(p *peer, a logArgs) error { return p.store.ClearLogs(background, a.Queue, a.ID, a.KeepLogs) }),
	"job.getState":             ask(func(p *peer, a jobArgs) (bullmq.State, error) { return p.client.Queue(a.Queue).State(background, a.ID) }),
	"job.getDependencies":      ask((*peer).dependencies),
	"job.getDependenciesCount": ask((*peer).dependencyCounts),
	"job.getChildrenValues":    ask((*peer).childrenValues),
	"job.getIgnoredChildrenFailures": ask(func(p *peer, a jobArgs) (map[string]string, error) {
		all, err := p.children(a, storage.DependencyIgnored)
		reasons := map[string]string{}
		for _, d := range all {
			reasons[d.Key] = d.Reason
		}
		return reasons, err
	}),
	"job.removeUnprocessedChildren": act(func(p *peer, a jobArgs) error {
		return p.store.RemovePendingChildren(background, a.Queue, a.ID)
	}),
	"job.removeChildDependency": ask(func(p *peer, a jobArgs) (bool, error) {
		return p.store.RemoveChildDependency(background, a.Queue, a.ID)
	}),
	"job.removeDeduplicationKey": ask((*peer).releaseOwnDedup),
	"job.waitUntilFinished":      ask((*peer).waitUntilFinished),
})

// withIs adds the calls that ask for a state.
func withIs(all ops) ops {
	for name, s := range map[string]bullmq.State{
		"Completed": bullmq.StateCompleted, "Failed": bullmq.StateFailed, "Delayed": bullmq.StateDelayed,
		"Waiting": bullmq.StateWaiting, "Active": bullmq.StateActive, "WaitingChildren": bullmq.StateWaitingChildren,
	} {
		all["job.is"+name] = ask(func(p *peer, a jobArgs) (bool, error) {
			is, err := p.client.Queue(a.Queue).State(background, a.ID)
			return is == s, err
		})
	}
	return all
}

func (p *peer) retry(a struct {
	jobArgs
	State string
	Opts  struct{ ResetAttemptsMade, ResetAttemptsStarted bool }
}) error {
	if a.State == "" {
		a.State = "failed"
	}
	return p.client.Queue(a.Queue).RetryWith(background, a.ID, bullmq.RetryRequest{
		State: state(a.State), ResetMade: a.Opts.ResetAttemptsMade, ResetStarted: a.Opts.ResetAttemptsStarted,
	})
}

func (p *peer) setProgress(a struct {
	jobArgs
	Progress json.RawMessage
}) error {
	return p.store.UpdateProgress(background, a.Queue, a.ID, a.Progress)
}

type logArgs struct {
	jobArgs
	Line     string
	KeepLogs int
}

func (p *peer) addLog(a logArgs) (int, error) {
	return p.store.AddLog(background, a.Queue, a.ID, a.Line, a.KeepLogs)
}

// log keeps as many lines as the job's options say.
func (p *peer) log(a logArgs) (int, error) {
	r, err := p.client.Queue(a.Queue).Job(background, a.ID)
	if err != nil {
		return 0, err
	}
	o, err := bullmq.ParseOptions(r.Opts)
	if err != nil {
		return 0, err
	}
	a.KeepLogs = o.KeepLogs
	return p.addLog(a)
}

// children are all children of a job of one kind.
func (p *peer) children(a jobArgs, kind storage.DependencyKind) ([]storage.Dependency, error) {
	var all []storage.Dependency
	var cursor uint64
	for {
		page, next, err := p.store.Dependencies(background, a.Queue, a.ID, kind, cursor, 100)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if next == 0 {
			return all, nil
		}
		cursor = next
	}
}

func (p *peer) childrenValues(a jobArgs) (map[string]json.RawMessage, error) {
	all, err := p.children(a, storage.DependencyProcessed)
	values := map[string]json.RawMessage{}
	for _, d := range all {
		values[d.Key] = d.Value
	}
	return values, err
}

func (p *peer) dependencies(a struct {
	jobArgs
	Opts json.RawMessage
}) (any, error) {
	if len(a.Opts) > 0 {
		return nil, errNotOffered{"paging through children by the library's cursors"}
	}
	processed, err := p.childrenValues(a.jobArgs)
	if err != nil {
		return nil, err
	}
	ignored := map[string]string{}
	keys := map[storage.DependencyKind][]string{storage.DependencyPending: {}, storage.DependencyFailed: {}}
	for _, kind := range []storage.DependencyKind{storage.DependencyPending, storage.DependencyIgnored, storage.DependencyFailed} {
		all, err := p.children(a.jobArgs, kind)
		if err != nil {
			return nil, err
		}
		for _, d := range all {
			keys[kind] = append(keys[kind], d.Key)
			if kind == storage.DependencyIgnored {
				ignored[d.Key] = d.Reason
			}
		}
	}
	return map[string]any{
		"processed": processed, "ignored": ignored,
		"unprocessed": keys[storage.DependencyPending], "failed": keys[storage.DependencyFailed],
	}, nil
}

func (p *peer) dependencyCounts(a jobArgs) (map[string]int, error) {
	n, err := p.client.Queue(a.Queue).DependencyCounts(background, a.ID)
	return map[string]int{"processed": n.Processed, "unprocessed": n.Pending, "ignored": n.Ignored, "failed": n.Failed}, err
}

func (p *peer) releaseOwnDedup(a jobArgs) (bool, error) {
	r, err := p.client.Queue(a.Queue).Job(background, a.ID)
	if err != nil || r.DedupID == "" {
		return false, err
	}
	return p.store.RemoveDedupKey(background, a.Queue, r.DedupID, a.ID)
}

func (p *peer) waitUntilFinished(a struct {
	jobArgs
	TTL float64
}) (json.RawMessage, error) {
	ctx, cancel := background, context.CancelFunc(func() {})
	if a.TTL > 0 {
		ctx, cancel = context.WithTimeout(ctx, millis(a.TTL))
	}
	defer cancel()
	job, err := p.client.Queue(a.Queue).Job(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	return raw(a.Queue, job.Name).JobHandle(p.client, a.ID).Result(ctx)
}
