package redisq

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// roleOf are the names of the operations that each role of docs/security.md needs.
var roleOf = map[string][]string{
	"producer": {"add", "add many", "add flow", "upsert schedules", "finish", "events", "last event", "dedup job"},
	"worker": {"settle", "renew", "admit", "keep step", "stalled", "wake", "add", "add flow", "advance schedules", "cancelled", "wait",
		"jobs", "children", "add log", "publish", "events"},
	"operator": {"clean", "clean waiting", "drain", "retry all", "obliterate", "orphans", "pause", "resume", "promote", "remove", "trim",
		"remove schedules", "cancel", "counts", "list jobs", "workers"},
	"reader": {"list schedules", "schedules", "count schedules", "jobs", "state", "finish", "logs", "counts", "counts by priority",
		"list", "list jobs", "metrics", "meta", "limit ttl", "dependency counts", "dependencies", "children", "names", "read flow",
		"dedup job", "events", "last event"},
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
			root, err := Open(srv.URL())
			require.NoError(t, err)
			defer func() { _ = root.Close() }()
			require.NoError(t, root.Pause(t.Context(), "q"))
			s, err := Open("redis://"+role+":secret@"+srv.Addr(), Logger(slog.New(slog.DiscardHandler)))
			require.NoError(t, err)
			defer func() { _ = s.Close() }()
			require.NoError(t, s.Ping(t.Context()))
			done := 0
			for _, op := range operations() {
				for _, name := range names {
					if op.name != name {
						continue
					}
					done++
					err := op.call(t.Context(), s)
					require.NotErrorIs(t, err, storage.ErrNotPermitted, "%s: %v", name, err)
					require.Empty(t, storage.Kind(err), "%s: %v", name, err)
				}
			}
			require.Equal(t, len(names), done)
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
