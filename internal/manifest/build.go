package manifest

import (
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// Of describes a package whose API goes into o.
func Of(o *model.Output, p *model.Package) *Package {
	b := places{o.Dir}
	out := &Package{Path: p.Path, Queues: []*Queue{}}
	for _, q := range p.Queues {
		out.Queues = append(out.Queues, b.queue(q))
	}
	slices.SortFunc(out.Queues, func(a, b *Queue) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// places names files as seen from the folder of the manifest.
type places struct{ dir string }

func (b places) at(pos token.Position, name string) Place {
	file := pos.Filename
	if rel, err := filepath.Rel(b.dir, file); err == nil {
		file = rel
	}
	return Place{File: filepath.ToSlash(file), Name: name}
}

func (b places) queue(q *model.Queue) *Queue {
	out := &Queue{Name: q.Name, Description: strings.TrimSpace(q.Doc), Tasks: []*Task{}}
	if q.GoName != "" {
		place := b.at(q.Pos, q.GoName)
		out.Go = &place
	}
	out.Worker = zeroIsNil(Worker{Concurrency: q.Concurrency})
	if q.Limit.Max > 0 {
		limiter := &Limiter{Max: q.Limit.Max, Duration: q.Limit.Per.Milliseconds()}
		if out.Worker == nil {
			out.Worker = &Worker{}
		}
		if q.Group != "" {
			out.Worker.GroupLimiter = limiter
		} else {
			out.Worker.Limiter = limiter
		}
	}
	out.Default = zeroIsNil(JobOptions{RemoveOnComplete: keep(q.KeepCompleted), RemoveOnFail: keep(q.KeepFailed)})
	for _, t := range q.Tasks {
		out.Tasks = append(out.Tasks, b.task(q, t))
	}
	slices.SortFunc(out.Tasks, func(a, b *Task) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func zeroIsNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func (b places) task(q *model.Queue, t *model.Task) *Task {
	out := &Task{
		Name: t.Name, Description: strings.TrimSpace(t.Doc), Go: b.at(t.TypePos, t.GoName),
		Deprecated: model.Deprecation(t.Doc) != "",
		Options:    options(t), Keys: keys(q, t), Schedules: schedules(t), Children: slots(t), Data: schemaOf(t.Payload),
	}
	for _, a := range t.Aliases {
		out.Aliases = append(out.Aliases, a.Name)
	}
	slices.Sort(out.Aliases)
	for _, u := range t.Upgrades {
		out.Upgrades = append(out.Upgrades, &Upgrade{Name: u.From, Go: b.at(u.FuncPos, u.GoName), Data: schemaOf(u.Old)})
	}
	if t.Codec != nil {
		out.Codec = t.Codec.GoName
	}
	out.Data.Description = "" // the task has it
	if t.Result != nil {
		out.Result = schemaOf(t.Result)
	}
	return out
}

func options(t *model.Task) *JobOptions {
	o := JobOptions{
		LIFO: t.LIFO, SizeLimit: t.SizeLimit,
		RemoveOnComplete: keep(t.KeepCompleted), RemoveOnFail: keep(t.KeepFailed),
		Gen: zeroIsNil(GenOptions{Timeout: t.Timeout.Milliseconds(), TTL: t.TTL.Milliseconds()}),
	}
	if r := t.Retry; r != nil {
		o.Attempts = r.Attempts
		if r.Backoff.Type != "" {
			o.Backoff = &Backoff{Type: r.Backoff.Type, Delay: r.Backoff.Delay.Milliseconds(), Jitter: r.Backoff.Jitter, Max: r.Backoff.Max.Milliseconds()}
		}
	}
	if d := t.Dedup; d != nil {
		o.Deduplication = &Deduplication{TTL: d.TTL.Milliseconds(), Extend: d.Extend, Replace: d.Replace, KeepLast: d.KeepLast, Reschedule: d.Reschedule}
	}
	return zeroIsNil(o)
}

// keep is what is kept, as removeOnComplete and removeOnFail have it; nil: not said.
func keep(r *model.Retention) any {
	switch {
	case r == nil:
		return nil
	case r.None:
		return true
	case r.Age > 0:
		return Keep{Age: float64(r.Age) / float64(time.Second), Count: r.Count}
	case r.Count > 0:
		return r.Count
	}
	return false
}

func keys(q *model.Queue, t *model.Task) *Keys {
	var k Keys
	for _, key := range t.Keys() {
		name := selector(key.Path)
		switch key.Word.Text {
		case model.WordDedup:
			k.Deduplication = append(k.Deduplication, name)
		case model.WordDelay:
			k.Delay = name
		case model.WordJobID:
			k.JobID = append(k.JobID, name)
		case model.WordPriority:
			k.Priority = name
		}
	}
	if q.Group != "" {
		k.Group = selector(t.Payload.Find(q.Group))
	}
	if k.Deduplication != nil {
		k.DeduplicationScope = t.Scope(model.WordDedup)
	}
	if k.JobID != nil {
		k.JobIDScope = t.Scope(model.WordJobID)
	}
	if k.Deduplication == nil && k.JobID == nil && k.Delay+k.Group+k.Priority == "" {
		return nil
	}
	return &k
}

func selector(path []*model.Field) string {
	names := make([]string, len(path))
	for i, f := range path {
		names[i] = f.Name
	}
	return strings.Join(names, ".")
}
