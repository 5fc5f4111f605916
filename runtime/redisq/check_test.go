package redisq

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Arguments that cannot be right are refused before anything is sent: the
// store of this test has no server.
func TestArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	s, err := Open("redis://127.0.0.1:1")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	ctx := context.Background()
	now := time.Now()
	both := func(_ any, err error) error { return err }

	for name, c := range map[string]struct {
		err  error
		want []string // each a part of the error
	}{
		"queue without a name":     {s.Pause(ctx, ""), []string{"name is empty"}},
		"queue with a colon":       {s.Resume(ctx, "a:b"), []string{"colon"}},
		"drain":                    {s.Drain(ctx, "", true), []string{"name is empty"}},
		"clean":                    {both(s.Clean(ctx, "a:b", "sleeping", time.Time{}, -1)), []string{"colon", `"sleeping"`, "not set", "limit is -1"}},
		"clean waiting parents":    {both(s.Clean(ctx, "q", storage.StateWaitingChildren, now, 0)), []string{"cannot be cleaned"}},
		"obliterate":               {s.Obliterate(ctx, "q", true, -5), []string{"count is -5"}},
		"retry all":                {s.RetryAll(ctx, "q", storage.StateActive, time.Time{}, -1), []string{`"active"`, "not set", "count is -1"}},
		"promote all":              {s.PromoteAll(ctx, "q", -1), []string{"count is -1"}},
		"retry":                    {s.Retry(ctx, "q", "", storage.RetryRequest{}), []string{"id is empty", `state is ""`}},
		"promote":                  {s.Promote(ctx, "q", ""), []string{"id is empty"}},
		"change delay":             {s.ChangeDelay(ctx, "q", "", time.Time{}, -time.Second), []string{"id is empty", "not set", "delay is -1s"}},
		"change priority":          {s.ChangePriority(ctx, "q", "", 2097152, false), []string{"id is empty", "2097152", "0 to 2097151"}},
		"negative priority":        {s.ChangePriority(ctx, "q", "1", -1, false), []string{"priority -1"}},
		"update data":              {s.UpdateData(ctx, "q", "", []byte("{")), []string{"id is empty", "data is not JSON"}},
		"update progress":          {s.UpdateProgress(ctx, "q", "1", nil), []string{"progress is not JSON"}},
		"add log":                  {both(s.AddLog(ctx, "q", "", "l", -1)), []string{"id is empty", "keep is -1"}},
		"clear logs":               {s.ClearLogs(ctx, "q", "", -1), []string{"id is empty", "keep is -1"}},
		"remove":                   {s.Remove(ctx, "q", "", true), []string{"id is empty"}},
		"remove children":          {s.RemovePendingChildren(ctx, "q", ""), []string{"id is empty"}},
		"remove child dependency":  {both(s.RemoveChildDependency(ctx, "q", "")), []string{"id is empty"}},
		"remove orphans":           {both(s.RemoveOrphans(ctx, "q", -1, -2)), []string{"count is -1", "limit is -2"}},
		"remove deduplication key": {both(s.RemoveDedupKey(ctx, "q", "", "1")), []string{"id is empty"}},
		"set global concurrency":   {s.SetGlobalConcurrency(ctx, "q", -1), []string{"concurrency is -1"}},
		"set global rate limit":    {s.SetGlobalRateLimit(ctx, "q", &storage.RateLimit{}), []string{"maximum is 0", "time is 0s"}},
		"rate limit":               {s.RateLimit(ctx, "q", -time.Second), []string{"time is -1s"}},
		"read jobs":                {both(s.Jobs(ctx, "q", "1", "")), []string{"id 2 of 2 is empty"}},
		"state":                    {both(s.State(ctx, "q", "")), []string{"id is empty"}},
		"finish":                   {both(s.Finish(ctx, "q", "")), []string{"id is empty"}},
		"counts":                   {both(s.Counts(ctx, "q", "x", storage.StateFailed, "y")), []string{`"x"`, `"y"`}},
		"unknown is not counted":   {both(s.Counts(ctx, "q", storage.StateUnknown)), []string{`"unknown"`}},
		"counts by priority":       {both(s.CountsByPriority(ctx, "q", -1, 5, 3000000)), []string{"-1", "3000000"}},
		"delayed before":           {both(s.DelayedBefore(ctx, "", now)), []string{"name is empty"}},
		"list":                     {both(s.List(ctx, "q", "x", 0, -1, true)), []string{`"x"`}},
		"list jobs":                {both(s.ListJobs(ctx, "", []storage.State{"x"}, 0, -1, true)), []string{"name is empty", `"x"`}},
		"dependency counts":        {both(s.DependencyCounts(ctx, "q", "")), []string{"id is empty"}},
		"dependencies":             {dependenciesErr(s.Dependencies(ctx, "q", "", "x", 0, 0)), []string{"id is empty", `"x"`, "count is 0"}},
		"logs":                     {logsErr(s.Logs(ctx, "q", "", 0, -1, true)), []string{"id is empty"}},
		"metrics":                  {both(s.Metrics(ctx, "q", storage.StateActive, 0, -1)), []string{`"active"`}},
		"workers":                  {both(s.Workers(ctx, "a:b")), []string{"colon"}},
		"meta":                     {both(s.Meta(ctx, "")), []string{"name is empty"}},
		"rate limit ttl":           {both(s.RateLimitTTL(ctx, "q", -1)), []string{"maximum is -1"}},
		"holder of deduplication":  {both(s.DedupJobID(ctx, "q", "")), []string{"id is empty"}},
	} {
		require.Error(t, c.err, name)
		require.False(t, storage.Transient(c.err), "%s: %v", name, c.err)
		for _, part := range c.want {
			require.ErrorContains(t, c.err, part, name)
		}
		for line := range strings.SplitSeq(c.err.Error(), "\n") {
			require.NotEmpty(t, line, name)
		}
	}
}

func dependenciesErr(_ []storage.Dependency, _ uint64, err error) error { return err }

func logsErr(_ []string, _ int, err error) error { return err }
