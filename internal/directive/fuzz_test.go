package directive

import (
	"go/ast"
	"go/token"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// read reads a comment as if it stood in column 1 of line 1.
func read(text string) (*directives, *diag.List) {
	fset := token.NewFileSet()
	file := fset.AddFile("f.go", -1, len(text)+1)
	l := &diag.List{}
	found := &directives{task: &model.Task{}, queue: &model.Queue{}}
	d := Parse(fset, &ast.Comment{Slash: file.Pos(0), Text: text}, l)
	if d == nil || !d.Known(l) {
		return found, l
	}
	switch d.Name {
	case "task":
		found.result, found.children, _ = d.ReadTask(found.task, l)
	case "retry":
		found.task.Retry = d.ReadRetry(l)
	case "dedup":
		found.task.Dedup = d.ReadDedup(l)
	case "alias":
		found.task.Aliases = d.ReadAlias(l)
	case "schedule":
		schedule, payload := d.ReadSchedule(l)
		found.task.Schedules, found.payload = []*model.Schedule{schedule}, payload
	case "upgrade":
		if from, pos := d.ReadUpgrade(l); from != "" {
			found.task.Aliases = []model.Alias{{Name: from, Pos: pos}}
		}
	case "queue":
		d.ReadQueue(found.queue, l)
	}
	return found, l
}

type directives struct {
	task                      *model.Task
	queue                     *model.Queue
	result, children, payload *Arg
}

// Whatever a comment says, it is read or refused, at a place within it, and
// what is read is what the runtime accepts.
func FuzzDirective(f *testing.F) {
	for _, seed := range []string{
		"//bullmq:task emails/send result=R children=C lifo size-limit=64KiB timeout=30s ttl=1h keep-completed=1000,168h",
		"//bullmq:retry attempts=5 backoff=exponential:1s jitter=0.2 max=1m",
		"//bullmq:retry backoff=custom:x", "//bullmq:dedup ttl=10m extend replace keep-last reschedule",
		"//bullmq:alias a \"b c\" `d`", "//bullmq:queue limit=100/1m concurrency=20 keep-failed=none",
		"//bullmq:schedule \"0 9 * * MON\" id=weekly tz=Europe/Paris limit=3 payload=P", "//bullmq:schedule @daily start=2026-03-01 end=2026-03-01T09:00:00Z",
		"//bullmq:schedule every=90s offset=1s", "//bullmq:schedule * *", "//bullmq:schedule \"\" tz= id=a:1 start=0000-01-01",
		"//bullmq:upgrade from=a", "//bullmq:task q/n codec=C codec=", "//bullmq:upgrade \"from=a b\" x",
		"// bullmq:task", "//bullmq:", "//bullmq:task \"", "//bullmq:task \"a=b\"", "//bullmq:tsk =", "//bullmq:queue =\t=",
		"//bullmq:task q/a\x00b", "//bullmq:task \"result=\\xff\"", "//bullmq:retry jitter=1e-400", "//bullmq:task é/é é=é",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\n\r") || !strings.HasPrefix(text, "//") {
			t.Skip("not a line comment")
		}
		found, l := read(text)
		for _, d := range l.Sorted() {
			require.Equal(t, 1, d.Pos.Line)
			require.Positive(t, d.Pos.Column)
			require.LessOrEqual(t, d.Pos.Column, len(text)+2)
			require.NotEmpty(t, d.Message)
		}
		if !l.Failed() {
			found.check(t)
		}
	})
}

func (found *directives) check(t *testing.T) {
	t.Helper()
	task, queue := found.task, found.queue
	if task.Name != "" {
		require.NoError(t, NameProblem(task.Name, "task"))
		require.NoError(t, QueueProblem(task.Queue))
	}
	for _, a := range task.Aliases {
		require.NoError(t, NameProblem(a.Name, "alias"))
	}
	durations := []time.Duration{task.Timeout, task.TTL, queue.Limit.Per}
	if r := task.Retry; r != nil {
		durations = append(durations, r.Backoff.Delay, r.Backoff.Max)
		require.GreaterOrEqual(t, r.Attempts, 0)
		require.True(t, r.Backoff.Jitter >= 0 && r.Backoff.Jitter <= 1)
	}
	if d := task.Dedup; d != nil {
		durations = append(durations, d.TTL)
	}
	for _, s := range task.Schedules {
		durations = append(durations, s.Every, s.Offset)
		require.False(t, s.Broken)
		for _, at := range []time.Time{s.Start, s.End} {
			require.True(t, at.IsZero() || at.UnixMilli() > 0 && at.Equal(at.Truncate(time.Millisecond)), at)
		}
		if s.Cron != "" {
			require.NoError(t, bullmq.ScheduleSpec{Cron: s.Cron, TZ: s.TZ}.Check(time.Time{}))
		}
	}
	for _, d := range durations {
		require.True(t, d == 0 || d >= time.Millisecond && d%time.Millisecond == 0, d)
	}
	require.GreaterOrEqual(t, task.SizeLimit, 0)
	require.GreaterOrEqual(t, queue.Concurrency, 0)
	require.Equal(t, queue.Limit.Max > 0, queue.Limit.Per > 0)
	for _, k := range []*model.Retention{task.KeepCompleted, task.KeepFailed, queue.KeepCompleted, queue.KeepFailed} {
		require.True(t, k == nil || k.Count >= 0 && k.Age >= 0)
	}
}

// A tag is read as package reflect reads it; where reflect gives up, there is
// an error.
func FuzzTag(f *testing.F) {
	for _, seed := range []string{
		`json:"a" bullmq:"dedup,priority"`, `bullmq:"dedup"json:"x"`, `json: "a"`, `json:"a`, `json:a`, `:"x"`, ` a:"b" `,
		"a:\"\\\"\"", "a:\"\\xff\"", "a\x7f:\"b\"", `a:"b" a:"c"`, `a:"\q"`, "", " ", "é:\"é\"", "a:\"`\"", "a:\"\n\"",
	} {
		f.Add(seed, "bullmq")
	}
	f.Fuzz(func(t *testing.T, tag, key string) {
		pairs, err := ParseTag(tag)
		for _, p := range pairs {
			require.LessOrEqual(t, p.Offset, len(tag))
			require.Equal(t, byte('"'), tag[p.Offset-1])
		}
		seen := map[string]bool{}
		for _, p := range append(pairs, Pair{Key: key}) {
			if seen[p.Key] {
				continue // reflect finds the first
			}
			seen[p.Key] = true
			want, found := reflect.StructTag(tag).Lookup(p.Key)
			if p.Offset > 0 {
				require.True(t, found, "%q in %q", p.Key, tag)
				require.Equal(t, want, p.Value)
			} else if found {
				require.Error(t, err, "reflect finds %q in %q", key, tag)
			}
		}
	})
}
