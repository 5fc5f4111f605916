package templates

import (
	"bytes"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/naming"
)

// JavaScript returns the module for Node programs that add jobs of p's tasks, or
// process them: what is declared of each task, and the parts that this needs.
func JavaScript(p *model.Package) []byte {
	m := &module{names: moduleNames(p), used: map[string]bool{}}
	var tasks strings.Builder
	var all []string
	for _, q := range p.Queues {
		for _, t := range q.Tasks {
			tasks.WriteString("\n" + docComment(t.Doc, "") + m.task(q, t))
			all = append(all, m.names[t])
		}
	}
	m.use("processor")
	tasks.WriteString("\nconst tasks = " + jsList(all) + ";\n")
	parts := m.parts()
	return []byte(Header + "\n//\n" + sourceLine + p.Path + "\n" + nodeImport(parts) + tasks.String() + parts)
}

// module makes one module.
type module struct {
	names map[*model.Task]string
	used  map[string]bool // names of parts
}

// moduleNames are the names of the package's tasks in its module: those of the Go
// variables, with a small letter. Two that differ in nothing else keep the Go names.
func moduleNames(p *model.Package) map[*model.Task]string {
	count := map[string]int{}
	for _, t := range p.Tasks {
		count[naming.Slot(t.GoName)]++
	}
	names := map[*model.Task]string{}
	for _, t := range p.Tasks {
		names[t] = naming.Slot(t.GoName) + "Task"
		if count[naming.Slot(t.GoName)] > 1 {
			names[t] = t.Var()
		}
	}
	return names
}

// task is the declaration of a task.
func (m *module) task(q *model.Queue, t *model.Task) string {
	var o jsObject
	o.set("queue", tsText(q.Name))
	o.set("name", tsText(t.Name))
	if len(t.Aliases) > 0 {
		o.set("aliases", jsTexts(t.AliasNames()))
	}
	if len(t.Upgrades) > 0 {
		o.set("upgrades", jsTexts(t.EarlierNames()[len(t.Aliases):]))
	}
	if t.Codec != nil {
		o.set("codec", tsText(t.Codec.GoName))
	}
	if d := jobDefaults(q, t); len(d) > 0 {
		o.set("defaults", d.lines("  "))
	}
	m.keys(t, &o)
	if len(t.Schedules) > 0 {
		o.set("schedules", schedulesOf(t).lines("  "))
	}
	made := m.use("task")
	if t.Parent() {
		o.set("slots", slotsOf(t).lines("  "))
		made = m.use("parent")
	}
	value := made + "(" + o.lines("") + ")"
	if len(t.Schedules) > 0 {
		value = m.use("scheduled") + "(" + value + ")"
	}
	return "export const " + m.names[t] + " = " + value + ";\n"
}

// jobDefaults are the options that all jobs of the task have, as BullMQ names them.
func jobDefaults(q *model.Queue, t *model.Task) jsObject {
	var o, gen jsObject
	if r := t.Retry; r != nil {
		o.number("attempts", int64(r.Attempts))
		if b := r.Backoff; b.Type != "" {
			var backoff jsObject
			backoff.set("type", tsText(b.Type))
			backoff.set("delay", strconv.FormatInt(b.Delay.Milliseconds(), 10))
			if b.Jitter > 0 {
				backoff.set("jitter", strconv.FormatFloat(b.Jitter, 'f', -1, 64))
			}
			backoff.millis("max", b.Max)
			o.set("backoff", backoff.inline())
		}
	}
	o.flag("lifo", t.LIFO)
	o.kept("removeOnComplete", t.KeepCompleted, q.KeepCompleted)
	o.kept("removeOnFail", t.KeepFailed, q.KeepFailed)
	o.number("sizeLimit", int64(t.SizeLimit))
	gen.millis("timeout", t.Timeout)
	gen.millis("ttl", t.TTL)
	if len(gen) > 0 {
		o.set("gen", gen.inline())
	}
	return o
}

// schedulesOf are the task's schedules by their ids, as BullMQ repeats jobs.
func schedulesOf(t *model.Task) jsObject {
	var all jsObject
	for _, s := range t.Schedules {
		var o jsObject
		if s.Cron != "" {
			o.set("pattern", tsText(s.Cron))
			o.set("tz", tsText(zone(s)))
		}
		o.millis("every", s.Every)
		o.millis("offset", s.Offset)
		o.number("limit", int64(s.Limit))
		o.moment("startDate", s.Start)
		o.moment("endDate", s.End)
		all.set(tsName(s.ID), o.inline())
	}
	return all
}

// zone is that of a pattern. Go stores it, so that it does not depend on the machine.
func zone(s *model.Schedule) string {
	if s.TZ == "" {
		return "UTC"
	}
	return s.TZ
}

// slotKinds are what the parts call the kinds of slots.
var slotKinds = map[model.SlotKind]string{model.One: "one", model.Optional: "optional", model.Many: "many", model.Keyed: "keyed"}

// slotsOf are the task's slots by their names.
func slotsOf(t *model.Task) jsObject {
	var all jsObject
	for _, s := range t.Slots {
		var o jsObject
		o.set("kind", tsText(slotKinds[s.Kind]))
		o.set("queue", tsText(s.Queue.Name))
		o.set("name", tsText(s.Task.Name))
		if option := s.OnFail.Option(); option != "" {
			o.set("onFail", tsText(option))
		}
		o.flag("shared", sharesTask(t, s))
		all.set(tsName(s.Name), o.inline())
	}
	return all
}

//go:embed node/parts.js
var partsText []byte

// part is a function of the module that is the same in all modules.
type part struct{ name, text string }

var nodeParts = splitParts(partsText)

var partHead = regexp.MustCompile(`^(?:export )?function (\w+)\(`)

// splitParts finds the functions of the text, with the comments above them.
func splitParts(text []byte) []part {
	var list []part
	for chunk := range bytes.SplitSeq(bytes.TrimSpace(text), []byte("\n}\n")) {
		body := strings.TrimSpace(string(chunk))
		for line := range strings.Lines(body) {
			if head := partHead.FindStringSubmatch(line); head != nil {
				list = append(list, part{head[1], strings.TrimSuffix(body, "\n}") + "\n}\n"})
				break
			}
		}
	}
	return list
}

// use is the name of a part, which the module gets.
func (m *module) use(name string) string {
	m.used[name] = true
	return name
}

var partCall = regexp.MustCompile(`\b\w+\(`)

// parts are those that are used, also by each other.
func (m *module) parts() string {
	for before := 0; before < len(m.used); {
		before = len(m.used)
		for _, p := range nodeParts {
			if m.used[p.name] {
				for _, call := range partCall.FindAllString(p.text, -1) {
					m.used[strings.TrimSuffix(call, "(")] = true
				}
			}
		}
	}
	var out strings.Builder
	for _, p := range nodeParts {
		if m.used[p.name] {
			out.WriteString("\n" + p.text)
		}
	}
	return out.String()
}

// nodeImport is what parts need of Node itself.
func nodeImport(parts string) string {
	names := slices.DeleteFunc([]string{"createHash", "randomUUID"}, func(name string) bool { return !strings.Contains(parts, name+"(") })
	if len(names) == 0 {
		return ""
	}
	return "\nimport { " + strings.Join(names, ", ") + " } from \"node:crypto\";\n"
}

// jsObject is an object literal whose members keep their order.
type jsObject []string

func (o *jsObject) set(name, value string) { *o = append(*o, name+": "+value) }

func (o *jsObject) flag(name string, on bool) {
	if on {
		o.set(name, "true")
	}
}

func (o *jsObject) number(name string, n int64) {
	if n != 0 {
		o.set(name, strconv.FormatInt(n, 10))
	}
}

func (o *jsObject) millis(name string, d time.Duration) { o.number(name, d.Milliseconds()) }

func (o *jsObject) moment(name string, t time.Time) {
	if !t.IsZero() {
		o.set(name, tsText(t.UTC().Format(time.RFC3339)))
	}
}

// kept sets what is kept of finished jobs: what the task says, or the queue.
func (o *jsObject) kept(name string, task, queue *model.Retention) {
	r := task
	if r == nil {
		r = queue
	}
	switch {
	case r == nil:
	case r.None:
		o.set(name, "true")
	case r.Age > 0:
		var keep jsObject
		keep.set("age", strconv.FormatFloat(float64(r.Age.Milliseconds())/1000, 'f', -1, 64))
		keep.number("count", int64(r.Count))
		o.set(name, keep.inline())
	case r.Count > 0:
		o.number(name, int64(r.Count))
	default:
		o.set(name, "false")
	}
}

// inline is the object in one line.
func (o jsObject) inline() string { return "{ " + strings.Join(o, ", ") + " }" }

// lines is the object with a line for each member, if it has more than a short one.
func (o jsObject) lines(indent string) string {
	if len(o) == 1 && len(o[0]) < 80 {
		return o.inline()
	}
	var out strings.Builder
	out.WriteString("{\n")
	for _, member := range o {
		fmt.Fprintf(&out, "%s  %s,\n", indent, member)
	}
	return out.String() + indent + "}"
}

// jsList is a list of expressions, in several lines if it is long.
func jsList(values []string) string {
	if line := "[" + strings.Join(values, ", ") + "]"; len(line) <= 80 {
		return line
	}
	return "[\n  " + strings.Join(values, ",\n  ") + ",\n]"
}

func jsTexts(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = tsText(v)
	}
	return jsList(quoted)
}
