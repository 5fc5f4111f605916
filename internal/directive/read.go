package directive

import (
	"go/token"
	"strings"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/naming"
)

func into[T any](dst *T, parse func(string) (T, error)) func(string) error {
	return func(text string) (err error) {
		*dst, err = parse(text)
		return err
	}
}

func duration(dst *time.Duration) func(string) error { return into(dst, parseDuration) }

// ReadTask reads a task directive into t. It returns the arguments that name
// declarations, result=, children= and codec=, or nil for one that is not there.
func (d *Directive) ReadTask(t *model.Task, l *diag.List) (result, children, codec *Arg) {
	t.Pos = d.Pos
	named := false
	byCaller := func(string) error { return nil }
	d.read(setters{
		values: map[string]func(string) error{
			"result":         byCaller,
			"children":       byCaller,
			"codec":          byCaller,
			"size-limit":     into(&t.SizeLimit, parseSize),
			"timeout":        duration(&t.Timeout),
			"ttl":            duration(&t.TTL),
			"keep-completed": into(&t.KeepCompleted, parseKeep),
			"keep-failed":    into(&t.KeepFailed, parseKeep),
		},
		flags: map[string]*bool{"lifo": &t.LIFO},
		place: func(a Arg) {
			if named {
				d.extra(a, l)
				return
			}
			named, t.Pos = true, a.Pos
			d.readName(a, t, l)
		},
	}, l)
	if !named {
		l.Errorf(d.Pos, "%s needs a queue and a name: write %s QUEUE/NAME", d, d)
	}
	return d.argument("result"), d.argument("children"), d.argument("codec")
}

// argument is the first one with the key, or nil.
func (d *Directive) argument(key string) *Arg {
	for i, a := range d.Args {
		if a.Key == key {
			return &d.Args[i]
		}
	}
	return nil
}

// extra reports a second word where one is allowed.
func (d *Directive) extra(a Arg, l *diag.List) {
	switch near := naming.Nearest(a.Text, words[d.Name]); {
	case d.reject(a.Text, a.Pos, l):
	case near != "":
		l.Errorf(a.Pos, "unexpected %q in %s; did you mean %q?", a.Text, d, near)
		l.Suggest(a.Text, near)
	default:
		l.Errorf(a.Pos, "unexpected %q in %s: it takes one QUEUE/NAME, then keys; quote a name with spaces together with its queue", a.Text, d)
	}
}

func (d *Directive) readName(a Arg, t *model.Task, l *diag.List) {
	queue, name, ok := strings.Cut(a.Text, "/")
	if !ok {
		l.Errorf(a.Pos, "%s %q lacks the queue or the name: write %s QUEUE/NAME", d, a.Text, d)
		return
	}
	t.Queue, t.Name = queue, name
	if err := QueueProblem(queue); err != nil {
		l.Errorf(a.Pos, "%v", err)
	}
	if err := NameProblem(name, "task"); err != nil {
		l.Errorf(a.Pos, "%v", err)
	}
}

// ReadRetry reads a retry directive.
func (d *Directive) ReadRetry(l *diag.List) *model.Retry {
	r := &model.Retry{}
	places, ok := d.read(setters{values: map[string]func(string) error{
		"attempts": into(&r.Attempts, parseCount),
		"backoff":  func(text string) error { return parseBackoff(text, &r.Backoff) },
		"jitter":   into(&r.Backoff.Jitter, parseJitter),
		"max":      duration(&r.Backoff.Max),
	}}, l)
	r.Places, r.Broken = places, !ok
	return r
}

// ReadDedup reads a dedup directive.
func (d *Directive) ReadDedup(l *diag.List) *model.Dedup {
	dd := &model.Dedup{}
	places, ok := d.read(setters{
		values: map[string]func(string) error{"ttl": duration(&dd.TTL)},
		flags: map[string]*bool{
			"extend": &dd.Extend, "replace": &dd.Replace, "keep-last": &dd.KeepLast, "reschedule": &dd.Reschedule,
		},
	}, l)
	dd.Places, dd.Broken = places, !ok
	return dd
}

// ReadAlias reads an alias directive.
func (d *Directive) ReadAlias(l *diag.List) []model.Alias {
	var aliases []model.Alias
	for _, a := range d.Args {
		if err := NameProblem(a.Text, "alias"); err != nil {
			l.Errorf(a.Pos, "%v", err)
			continue
		}
		aliases = append(aliases, model.Alias{Name: a.Text, Pos: a.Pos})
	}
	if len(d.Args) == 0 {
		l.Errorf(d.Pos, "%s needs the earlier name of the task", d)
	}
	return aliases
}

// ReadUpgrade reads the earlier name of an upgrade directive. It is empty when
// there is none that can be used.
func (d *Directive) ReadUpgrade(l *diag.List) (from string, pos token.Position) {
	pos = d.Pos
	places, ok := d.read(setters{values: map[string]func(string) error{
		"from": func(text string) error {
			from = text
			return NameProblem(text, "earlier task")
		},
	}}, l)
	if a := d.argument("from"); a != nil {
		pos = a.ValuePos
	}
	if !places.Has("from") {
		l.Errorf(d.Pos, "%s needs the earlier name of the task: write %s from=NAME", d, d)
	}
	if !ok {
		from = ""
	}
	return from, pos
}

// ReadQueue reads a queue directive into q.
func (d *Directive) ReadQueue(q *model.Queue, l *diag.List) {
	q.Places, _ = d.read(setters{values: map[string]func(string) error{
		"limit":          into(&q.Limit, parseLimit),
		"group":          into(&q.Group, parseField),
		"concurrency":    into(&q.Concurrency, parseCount),
		"keep-completed": into(&q.KeepCompleted, parseKeep),
		"keep-failed":    into(&q.KeepFailed, parseKeep),
	}}, l)
}
