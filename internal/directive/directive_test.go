package directive

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

func TestEveryKeyIsReadAndListed(t *testing.T) {
	t.Parallel()
	for line, all := range map[string]string{
		"task":     "q/n result=R children=C codec=D lifo size-limit=1KiB timeout=1s ttl=2s keep-completed=all keep-failed=none",
		"retry":    "attempts=2 backoff=exponential:1s jitter=0.5 max=1m",
		"dedup":    "ttl=1s extend replace keep-last reschedule",
		"schedule": "every=1h offset=5m id=hourly tz=Europe/Paris limit=3 start=2026-03-01 end=2027-03-01T00:00:00Z payload=P",
		"upgrade":  "from=a",
		"queue":    "limit=1/1s group=Tenant concurrency=2 keep-completed=1 keep-failed=1h",
	} {
		_, l := read("//bullmq:" + line + " " + all)
		require.Empty(t, l.Sorted(), line)
		for _, key := range words[line] {
			require.Contains(t, all, key, line)
		}
	}
}

func TestPositionsAreThoseOfTheArgument(t *testing.T) {
	t.Parallel()
	for text, column := range map[string]int{
		"//bullmq:tsk q/a":                   1,
		"//bullmq:retry attempts=2 atempts=": 27,
		"//bullmq:retry attempts=x":          25,
		"//bullmq:retry  \t attempts=x":      28,
		`//bullmq:retry "attempts=x"`:        26,
		"//bullmq:retry `attempts=x`":        26,
		`//bullmq:task "a`:                   15,
		"//bullmq:task é/é ttl=1":            25,
	} {
		_, l := read(text)
		require.Len(t, l.Sorted(), 1, text)
		require.Equal(t, column, l.Sorted()[0].Pos.Column, "%s: %v", text, l.Sorted())
	}
}

func TestResultIsGivenBack(t *testing.T) {
	t.Parallel()
	found, l := read(`//bullmq:task q/a lifo "result=map[string] R"`)
	require.Empty(t, l.Sorted())
	require.Equal(t, "map[string] R", found.result.Value)
	require.Equal(t, 32, found.result.ValuePos.Column)
	require.True(t, found.task.LIFO)
}

func TestValues(t *testing.T) {
	t.Parallel()
	kib, err := parseSize("64KiB")
	require.NoError(t, err)
	require.Equal(t, 64<<10, kib)
	for text, want := range map[string]int{"1": 1, "500B": 500, "1MiB": 1 << 20, "1GiB": 1 << 30} {
		got, err := parseSize(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for text, want := range map[string]model.Retention{
		"all": {}, "none": {None: true}, "7": {Count: 7}, "36h": {Age: 36 * time.Hour}, "7,1s": {Count: 7, Age: time.Second},
	} {
		got, err := parseKeep(text)
		require.NoError(t, err, text)
		require.Equal(t, want, *got)
	}
	limit, err := parseLimit("100/1m30s")
	require.NoError(t, err)
	require.Equal(t, model.RateLimit{Max: 100, Per: 90 * time.Second}, limit)
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "send-welcome", "a:b", "日本", "{x}", "a b", fmt.Sprintf("%0300d", 1)} {
		require.NoError(t, NameProblem(good, "task"))
	}
	for _, bad := range []string{"", " ", "a\n", "\x00", "a\u0085", "\xff", " a", "a\t", fmt.Sprintf("%0301d", 1)} {
		require.Error(t, NameProblem(bad, "task"), "%q", bad)
	}
	require.Error(t, QueueProblem("a:b"))
	require.NoError(t, QueueProblem("a/b"))
}
