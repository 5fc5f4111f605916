package manifest

import (
	"fmt"
	"strconv"
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
			if b.Jitter > 0 {
				w.add("jitter=%v", b.Jitter)
			}
			w.wait("max", b.Max)
		}
		w.dedup(o.Deduplication)
		if o.LIFO {
			w.add("lifo")
		}
		w.number("size-limit", o.SizeLimit)
		if g := o.Gen; g != nil {
			w.wait("timeout", g.Timeout)
			w.wait("ttl", g.TTL)
		}
	}
	w.kept("keep-completed", t.Options, q.Default, func(o *JobOptions) any { return o.RemoveOnComplete })
	w.kept("keep-failed", t.Options, q.Default, func(o *JobOptions) any { return o.RemoveOnFail })
	if k := t.Keys; k != nil {
		w.field("dedup", strings.Join(k.Deduplication, ","))
		w.field("delay", k.Delay)
		w.field("group", k.Group)
		w.field("jobid", strings.Join(k.JobID, ","))
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

// dedup are the modes of a dedup directive.
func (w *words) dedup(d *Deduplication) {
	if d == nil {
		return
	}
	var modes []string
	if d.TTL > 0 {
		modes = append(modes, short(d.TTL))
	}
	for _, m := range []struct {
		name string
		on   bool
	}{{"extend", d.Extend}, {"replace", d.Replace}, {"keep-last", d.KeepLast}, {"reschedule", d.Reschedule}} {
		if m.on {
			modes = append(modes, m.name)
		}
	}
	if len(modes) > 0 {
		w.add("dedup=%s", strings.Join(modes, ","))
	}
}

// kept is what is kept of finished jobs: what the task says, or else its queue.
func (w *words) kept(name string, task, queue *JobOptions, of func(*JobOptions) any) {
	for _, o := range []*JobOptions{task, queue} {
		if o == nil || of(o) == nil {
			continue
		}
		if text := retained(of(o)); text != "" {
			w.add("%s=%s", name, text)
		}
		return
	}
}

// retained is an option of BullMQ as directives write it. In a manifest that was
// read it has the types of JSON.
func retained(option any) string {
	switch v := option.(type) {
	case bool:
		if v {
			return "none"
		}
		return "all"
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.Itoa(int(v))
	case map[string]any:
		age, _ := v["age"].(float64)
		count, _ := v["count"].(float64)
		return retained(Keep{Age: age, Count: int(count)})
	case Keep:
		text := short(int64(v.Age * 1000))
		if v.Count > 0 {
			text = strconv.Itoa(v.Count) + "," + text
		}
		return text
	}
	return ""
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
