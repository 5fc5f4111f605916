package manifest

import (
	"fmt"
	"strings"
	"time"
)

// Words are the options of a task and of its queue in short, as directives
// have them.
func Words(q *Queue, t *Task) []string {
	var w words
	if q.Worker != nil {
		w.number("concurrency", q.Worker.Concurrency)
		w.limit("limit", q.Worker.Limiter)
		w.limit("group-limit", q.Worker.GroupLimiter)
	}
	if o := t.Options; o != nil {
		w.number("attempts", o.Attempts)
		if b := o.Backoff; b != nil {
			w.add("backoff=%s", b.Type)
			w.wait("wait", b.Delay)
		}
		if o.LIFO {
			w.add("lifo")
		}
		w.number("size-limit", o.SizeLimit)
		if g := o.Gen; g != nil {
			w.wait("timeout", g.Timeout)
			w.wait("ttl", g.TTL)
		}
	}
	if k := t.Keys; k != nil {
		w.field("dedup", strings.Join(k.Deduplication, ","))
		w.field("delay", k.Delay)
		w.field("group", k.Group)
		w.field("jobid", k.JobID)
		w.field("priority", k.Priority)
	}
	if len(t.Aliases) > 0 {
		w.add("alias=%s", strings.Join(t.Aliases, ","))
	}
	for _, u := range t.Upgrades {
		w.add("upgrade=%s", u.Name)
	}
	if t.Codec != "" {
		w.add("codec=%s", t.Codec)
	}
	for _, s := range t.Children {
		w.add("child %s=%s/%s", s.Name, s.Queue, s.Task)
	}
	for _, s := range t.Schedules {
		w.add("%s", s.words())
	}
	return w
}

type words []string

func (w *words) add(format string, args ...any) { *w = append(*w, fmt.Sprintf(format, args...)) }

func (w *words) number(name string, n int) {
	if n > 0 {
		w.add("%s=%d", name, n)
	}
}

func (w *words) wait(name string, ms int64) {
	if ms > 0 {
		w.add("%s=%s", name, short(ms))
	}
}

func (w *words) field(name, field string) {
	if field != "" {
		w.add("%s:%s", name, field)
	}
}

func (w *words) limit(name string, l *Limiter) {
	if l != nil {
		w.add("%s=%d/%s", name, l.Max, short(l.Duration))
	}
}

// short is a time as people write it: 1m, not 1m0s.
func short(ms int64) string {
	text := (time.Duration(ms) * time.Millisecond).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
