package check

import (
	"go/token"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// rule is a combination of arguments that makes no sense.
type rule[T any] struct {
	broken func(v T) bool
	// at are the keys whose argument is to blame, the first that was written.
	at      []string
	message string
}

func apply[T any](rules []rule[T], v T, places model.Places, l *diag.List) {
	for _, r := range rules {
		if r.broken(v) {
			l.Errorf(places.At(r.at...), "%s", r.message)
		}
	}
}

var retryRules = []rule[*model.Retry]{
	{
		func(r *model.Retry) bool {
			return !r.Has("attempts") && !r.Has("backoff") && !r.Has("jitter") && !r.Has("max")
		},
		nil, "//bullmq:retry says nothing: write attempts=N",
	},
	{
		func(r *model.Retry) bool { return r.Has("backoff") && !r.Has("attempts") },
		[]string{"backoff"}, "backoff has no effect on a task that is tried once: add attempts=N",
	},
	{
		func(r *model.Retry) bool { return r.Has("backoff") && r.Attempts == 1 },
		[]string{"backoff"}, "backoff has no effect with attempts=1, which is no retry: raise attempts, or remove backoff",
	},
	{
		func(r *model.Retry) bool { return r.Has("jitter") && !r.Has("backoff") },
		[]string{"jitter"}, "jitter needs a wait to vary: add backoff=exponential:1s or backoff=fixed:1s",
	},
	{
		func(r *model.Retry) bool { return r.Has("jitter") && r.Backoff.Custom },
		[]string{"jitter"}, "jitter is for fixed and exponential backoff: a custom strategy chooses its wait itself",
	},
	{
		func(r *model.Retry) bool { return r.Has("max") && r.Backoff.Type != "exponential" },
		[]string{"max"}, "max is the longest wait of an exponential backoff: add backoff=exponential:1s, or remove max",
	},
	{
		func(r *model.Retry) bool {
			return r.Backoff.Type == "exponential" && r.Backoff.Max > 0 && r.Backoff.Max < r.Backoff.Delay
		},
		[]string{"max"}, "max is shorter than the first wait of the backoff",
	},
}

func retry(t *model.Task, l *diag.List) {
	if t.Retry != nil && !t.Retry.Broken {
		apply(retryRules, t.Retry, t.Retry.Places, l)
	}
}

var dedupRules = []rule[*model.Dedup]{
	{
		func(d *model.Dedup) bool { return d.Extend && !d.Has("ttl") },
		[]string{"extend"}, "extend needs a ttl to extend: add ttl=10m",
	},
	{
		func(d *model.Dedup) bool { return d.KeepLast && d.Has("ttl") },
		[]string{"keep-last"}, "keep-last holds on until the job is done and takes no ttl: remove one of them",
	},
	{
		func(d *model.Dedup) bool { return d.Replace && d.Reschedule },
		[]string{"reschedule"}, "reschedule keeps a delayed job and replace throws it away: remove one of them",
	},
}

func dedup(t *model.Task, l *diag.List) {
	if t.Dedup != nil && !t.Dedup.Broken {
		apply(dedupRules, t.Dedup, t.Dedup.Places, l)
	}
}

func aliases(t *model.Task, l *diag.List) {
	seen := map[string]token.Position{}
	for _, a := range t.Aliases {
		before, again := seen[a.Name]
		switch {
		case a.Name == t.Name:
			l.Errorf(a.Pos, "alias %q is the task's own name: write an earlier one", a.Name)
		case again:
			l.Errorf(a.Pos, "alias %q is there already, at %v", a.Name, before)
		}
		seen[a.Name] = a.Pos
	}
}
