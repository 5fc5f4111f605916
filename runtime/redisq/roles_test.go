package redisq

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// roleOf are the methods of the storage that each role of docs/security.md needs.
var roleOf = map[string][]string{
	"producer": {"Announce", "Add", "AddFlow", "UpsertSchedules", "Finish", "ReadEvents", "LastEvent", "DedupJobID"},
	"worker": {"Settle", "Renew", "Admit", "KeepStep", "RecoverStalled", "Wake", "Add", "AddFlow", "AdvanceSchedules", "Cancelled", "Waiter.Wait",
		"Jobs", "Children", "AddLog", "Publish", "ReadEvents"},
	"operator": {"Clean", "Drain", "RetryAll", "PromoteAll", "Obliterate", "RemoveOrphans", "Pause", "Resume", "Retry", "Promote", "Remove",
		"RemovePendingChildren", "RemoveChildDependency", "TrimEvents", "RemoveSchedules", "PruneSchedules", "Cancel", "Counts", "ListJobs", "Workers"},
	"reader": {"ListSchedules", "Schedules", "CountSchedules", "Jobs", "State", "Finish", "Logs", "Counts", "CountsByPriority",
		"List", "ListJobs", "Metrics", "Meta", "RateLimitTTL", "DependencyCounts", "Dependencies", "Children", "Names", "ReadFlow",
		"DedupJobID", "ReadEvents", "LastEvent", "EventKept"},
}

// documentedRights reads the rights of a role from docs/security.md.
func documentedRights(t *testing.T, role string) []any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "ACL SETUSER "+role+" "); ok {
			var args []any
			for _, f := range strings.Fields(rest) {
				args = append(args, f)
			}
			return args
		}
	}
	require.Fail(t, "docs/security.md has no rights of "+role)
	return nil
}

// TestRolesOfTheSecurityGuideSuffice runs the operations of each role as a user
// with exactly the rights that docs/security.md lists.
func TestRolesOfTheSecurityGuideSuffice(t *testing.T) {
	t.Parallel()
	for role, names := range roleOf {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			srv := testredis.Start(t)
			require.NoError(t, srv.Client(t).Do(t.Context(), append([]any{"acl", "setuser", role}, documentedRights(t, role)...)...).Err())
			root, err := New(srv.Client(t))
			require.NoError(t, err)
			b := &bench{Store: root, t: t, c: srv.Client(t), ctx: t.Context()}
			s, err := Open("redis://"+role+":secret@"+srv.Addr(), Logger(slog.New(slog.DiscardHandler)))
			require.NoError(t, err)
			defer func() { _ = s.Close() }()
			require.NoError(t, s.Ping(t.Context()))
			done := map[string]bool{}
			for _, c := range everyCall() {
				if slices.Contains(names, c.method) {
					done[c.method] = true
					b.begin(c)
					require.NoError(t, c.call(t.Context(), s), c.method)
				}
			}
			require.Len(t, done, len(names))
		})
	}
}

// TestRolesCannotDoWhatTheyNeedNot: what key and command rules can express.
func TestRolesCannotDoWhatTheyNeedNot(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	root, err := Open(srv.URL())
	require.NoError(t, err)
	defer func() { _ = root.Close() }()
	_, err = root.Add(t.Context(), "q", plainJobs(3))
	require.NoError(t, err)
	as := func(role string) *Store {
		require.NoError(t, srv.Client(t).Do(t.Context(), append([]any{"acl", "setuser", role}, documentedRights(t, role)...)...).Err())
		s, err := Open("redis://"+role+":secret@"+srv.Addr(), Logger(slog.New(slog.DiscardHandler)))
		require.NoError(t, err)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	take := func(s *Store) error {
		_, err := s.Settle(t.Context(), "q", &storage.SettleRequest{Now: time.Now(), Take: 1, Token: "t", Lock: time.Second, Worker: "w"})
		return err
	}
	producer, reader := as("producer"), as("reader")
	for name, err := range map[string]error{
		"a producer takes a job": take(producer), "a reader takes a job": take(reader),
		"a producer obliterates": producer.Obliterate(t.Context(), "q", true, 0), "a reader obliterates": reader.Obliterate(t.Context(), "q", true, 0),
		"a reader adds":   func() error { _, err := reader.Add(t.Context(), "q", plainJobs(1)); return err }(),
		"a reader pauses": reader.Pause(t.Context(), "q"),
		"another key":     producer.client.Set(context.Background(), "other", "x", 0).Err(),
		"configuration":   producer.client.ConfigGet(context.Background(), "*").Err(),
		"flush":           producer.client.FlushAll(context.Background()).Err(),
	} {
		require.Error(t, err, name)
	}
	counts, err := root.Counts(t.Context(), "q", storage.StateWaiting)
	require.NoError(t, err)
	require.Equal(t, []int{3}, counts)
}

// A producer may meet any command of the scripts that it runs, depending on what
// is stored already.
func TestTheRightsOfAProducerCoverItsScripts(t *testing.T) {
	t.Parallel()
	granted := documentedRights(t, "producer")
	for _, name := range []string{"add", "addflow", "upsertschedules"} {
		for _, command := range scriptCommands(script(name)) {
			require.Contains(t, granted, "+"+command, name)
		}
	}
}
