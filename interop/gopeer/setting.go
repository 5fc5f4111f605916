package main

import bullmq "github.com/bullmq-gen/bullmq-gen/runtime"

// settingOps read and change what holds for all jobs of a queue.
var settingOps = ops{
	"queue.isPaused": ask(func(p *peer, a queueArgs) (bool, error) { return p.queue(a).Paused(background) }),
	"queue.getMeta":  ask((*peer).meta),
	"queue.getVersion": ask(func(p *peer, a queueArgs) (string, error) {
		m, err := p.queue(a).Meta(background)
		return m.Version, err
	}),
	"queue.setGlobalConcurrency": act(func(p *peer, a struct {
		queueArgs
		Concurrency int
	}) error {
		return p.queue(a.queueArgs).SetGlobalConcurrency(background, a.Concurrency)
	}),
	"queue.removeGlobalConcurrency": act(func(p *peer, a queueArgs) error { return p.queue(a).SetGlobalConcurrency(background, 0) }),
	"queue.getGlobalConcurrency": ask(func(p *peer, a queueArgs) (*int, error) {
		m, err := p.queue(a).Meta(background)
		return orNull(m.Concurrency), err
	}),
	"queue.setGlobalRateLimit": act(func(p *peer, a struct {
		queueArgs
		Max      int
		Duration float64
	}) error {
		return p.queue(a.queueArgs).SetGlobalRateLimit(background, bullmq.RateLimit{Max: a.Max, Per: millis(a.Duration)})
	}),
	"queue.removeGlobalRateLimit": act(func(p *peer, a queueArgs) error { return p.queue(a).SetGlobalRateLimit(background, bullmq.RateLimit{}) }),
	"queue.getGlobalRateLimit":    ask((*peer).limit),
	"queue.rateLimit": act(func(p *peer, a struct {
		queueArgs
		MS float64
	}) error {
		return p.queue(a.queueArgs).RateLimit(background, millis(a.MS))
	}),
	"queue.removeRateLimitKey": act(func(p *peer, a queueArgs) error { return p.queue(a).RateLimit(background, 0) }),
	"queue.getRateLimitTtl": ask(func(p *peer, a struct {
		queueArgs
		MaxJobs int
	}) (int64, error) {
		d, err := p.store.RateLimitTTL(background, a.Queue, a.MaxJobs)
		return d.Milliseconds(), err
	}),
	"queue.getDeduplicationJobId":  ask((*peer).dedupJob),
	"queue.getDebounceJobId":       ask((*peer).dedupJob),
	"queue.removeDeduplicationKey": ask((*peer).releaseDedup),
	"queue.removeDebounceKey":      ask((*peer).releaseDedup),
}

type dedupArgs struct {
	queueArgs
	DedupID string
}

func (p *peer) dedupJob(a dedupArgs) (*string, error) {
	id, err := p.queue(a.queueArgs).DedupJobID(background, a.DedupID)
	return orNull(id), err
}

func (p *peer) releaseDedup(a dedupArgs) (int, error) {
	held, err := p.queue(a.queueArgs).RemoveDedupKey(background, a.DedupID)
	return number(held), err
}

func (p *peer) limit(a queueArgs) (any, error) {
	m, err := p.queue(a).Meta(background)
	if err != nil || m.Limit == nil {
		return nil, err
	}
	return map[string]any{"max": m.Limit.Max, "duration": m.Limit.Per.Milliseconds()}, nil
}

func (p *peer) meta(a queueArgs) (any, error) {
	m, err := p.queue(a).Meta(background)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"paused": m.Paused}
	for name, value := range m.Extra {
		out[name] = value
	}
	if m.Version != "" {
		out["version"] = m.Version
	}
	if m.MaxEvents != 0 {
		out["maxLenEvents"] = m.MaxEvents
	}
	if m.Concurrency != 0 {
		out["concurrency"] = m.Concurrency
	}
	if m.Limit != nil {
		out["max"], out["duration"] = m.Limit.Max, m.Limit.Per.Milliseconds()
	}
	return out, nil
}

func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func number(on bool) int {
	if on {
		return 1
	}
	return 0
}
