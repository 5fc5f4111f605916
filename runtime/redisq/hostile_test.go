package redisq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// hostile makes replies of every shape.
type hostile struct{ *rand.Rand }

func (h hostile) reply(depth int) string {
	texts := []string{"", "0", "1", "-1", "-3", "2", "99999999999999999999", "1.5", "NaN", "x", "r", "o", "l", "d", "\xff\x00", "{}", "[", "null", "0:1", "1-0"}
	text := texts[h.IntN(len(texts))]
	switch h.IntN(12) {
	case 0:
		return fmt.Sprintf(":%d\r\n", h.Int64N(7)-3)
	case 1:
		return fmt.Sprintf(":%d\r\n", h.Uint64())
	case 2:
		return "$-1\r\n"
	case 3:
		return "*-1\r\n"
	case 4:
		return "*0\r\n"
	case 5:
		return "+" + strings.Trim(text, "\x00") + "\r\n"
	case 6:
		return "-ERR " + text + "\r\n"
	case 7:
		return "?" + text + "\r\n"
	case 8, 9:
		return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
	}
	if depth == 0 {
		return ":1\r\n"
	}
	n := h.IntN(8)
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", n)
	for range n {
		b.WriteString(h.reply(depth - 1))
	}
	return b.String()
}

// operation is a call of the storage. Writes: it changes something.
type operation struct {
	name   string
	writes bool
	call   func(context.Context, *Store) error
}

func operations() []operation {
	now, ids := time.UnixMilli(1700000000000), []string{"1", "2"}
	job := func(id string) storage.NewJob {
		return storage.NewJob{ID: id, Name: "n", Data: []byte("{}"), Opts: []byte("{}"), Timestamp: now}
	}
	drop := func(_ any, err error) error { return err }
	second := func(_, _ any, err error) error { return err }
	schedule := storage.Schedule{ID: "s", ScheduleRule: storage.ScheduleRule{Every: time.Minute}, Job: storage.Iteration{Opts: []byte("{}")}}
	return []operation{
		{"add", true, func(c context.Context, s *Store) error {
			return drop(s.Add(c, "q", []storage.NewJob{job(""), job("x")}))
		}},
		{"add many", true, func(c context.Context, s *Store) error { return drop(s.Add(c, "q", plainJobs(300))) }},
		{"add flow", true, func(c context.Context, s *Store) error {
			return drop(s.AddFlow(c, now, []storage.FlowNode{{Queue: "bull:q", NewJob: job("a")}, {Queue: "bull:q", NewJob: job("b")}}))
		}},
		{"settle", true, func(c context.Context, s *Store) error {
			return drop(s.Settle(c, "q", &storage.SettleRequest{Now: now, Take: 3, Token: "t", Lock: time.Second, Worker: "w",
				Settle: []storage.Settlement{{ID: "1", Token: "t", Kind: storage.Completed}}}))
		}},
		{"renew", true, func(c context.Context, s *Store) error {
			return drop(s.Renew(c, "q", []storage.Lock{{ID: "1", Token: "t"}}, time.Second))
		}},
		{"admit", true, func(c context.Context, s *Store) error {
			return drop(s.Admit(c, "q", now, storage.RateLimit{Max: 1, Per: time.Second}, []storage.Grouped{{ID: "1", Group: "g"}}))
		}},
		{"keep step", true, func(c context.Context, s *Store) error {
			return s.KeepStep(c, "q", storage.Lock{ID: "1", Token: "t"}, "a", []byte("1"))
		}},
		{"stalled", true, func(c context.Context, s *Store) error {
			return drop(s.RecoverStalled(c, "q", storage.StalledRequest{Now: now, Interval: time.Second, MaxStalled: 1}))
		}},
		{"wake", true, func(c context.Context, s *Store) error { return s.Wake(c, "q") }},
		{"clean", true, func(c context.Context, s *Store) error { return drop(s.Clean(c, "q", storage.StateCompleted, now, 10)) }},
		{"clean waiting", true, func(c context.Context, s *Store) error { return drop(s.Clean(c, "q", storage.StateWaiting, now, 0)) }},
		{"drain", true, func(c context.Context, s *Store) error { return s.Drain(c, "q", true) }},
		{"retry all", true, func(c context.Context, s *Store) error { return s.RetryAll(c, "q", storage.StateFailed, now, 0) }},
		{"obliterate", true, func(c context.Context, s *Store) error { return s.Obliterate(c, "q", true, 0) }},
		{"orphans", true, func(c context.Context, s *Store) error { return drop(s.RemoveOrphans(c, "q", 0, 0)) }},
		{"pause", true, func(c context.Context, s *Store) error { return s.Pause(c, "q") }},
		{"resume", true, func(c context.Context, s *Store) error { return s.Resume(c, "q") }},
		{"promote", true, func(c context.Context, s *Store) error { return s.Promote(c, "q", "1") }},
		{"remove", true, func(c context.Context, s *Store) error { return s.Remove(c, "q", "1", true) }},
		{"add log", true, func(c context.Context, s *Store) error { return drop(s.AddLog(c, "q", "1", "x", 0)) }},
		{"publish", true, func(c context.Context, s *Store) error { return s.Publish(c, "q", "e", 0, "a", "b") }},
		{"trim", true, func(c context.Context, s *Store) error { return drop(s.TrimEvents(c, "q", 1)) }},
		{"upsert schedules", true, func(c context.Context, s *Store) error {
			return drop(s.UpsertSchedules(c, "q", now, []storage.Schedule{schedule}))
		}},
		{"remove schedules", true, func(c context.Context, s *Store) error { return drop(s.RemoveSchedules(c, "q", "s")) }},
		{"advance schedules", true, func(c context.Context, s *Store) error {
			return drop(s.AdvanceSchedules(c, "q", now, []storage.Advance{{ID: "s", Job: "repeat:s:1", Next: storage.Iteration{Opts: []byte("{}")}}}))
		}},
		{"cancel", true, func(c context.Context, s *Store) error { return s.Cancel(c, "q", "1") }},
		{"cancelled", false, func(c context.Context, s *Store) error { return second(s.Cancelled(c, "q", "", time.Millisecond)) }},
		{"cancelled after", false, func(c context.Context, s *Store) error { return second(s.Cancelled(c, "q", "0-0", time.Millisecond)) }},
		{"list schedules", false, func(c context.Context, s *Store) error { return drop(s.ListSchedules(c, "q", 0, -1, true)) }},
		{"schedules", false, func(c context.Context, s *Store) error { return drop(s.Schedules(c, "q", "s")) }},
		{"count schedules", false, func(c context.Context, s *Store) error { return drop(s.CountSchedules(c, "q")) }},
		{"jobs", false, func(c context.Context, s *Store) error { return drop(s.Jobs(c, "q", ids...)) }},
		{"state", false, func(c context.Context, s *Store) error { return drop(s.State(c, "q", "1")) }},
		{"finish", false, func(c context.Context, s *Store) error { return drop(s.Finish(c, "q", "1")) }},
		{"logs", false, func(c context.Context, s *Store) error { return second(s.Logs(c, "q", "1", 0, -1, false)) }},
		{"counts", false, func(c context.Context, s *Store) error {
			return drop(s.Counts(c, "q", storage.StateWaiting, storage.StateFailed))
		}},
		{"counts by priority", false, func(c context.Context, s *Store) error { return drop(s.CountsByPriority(c, "q", 0, 1)) }},
		{"list", false, func(c context.Context, s *Store) error {
			return drop(s.List(c, "q", storage.StateWaiting, 0, -1, true))
		}},
		{"list jobs", false, func(c context.Context, s *Store) error {
			return drop(s.ListJobs(c, "q", []storage.State{storage.StateWaiting, storage.StateFailed}, 0, -1, true))
		}},
		{"metrics", false, func(c context.Context, s *Store) error { return drop(s.Metrics(c, "q", storage.StateCompleted, 0, -1)) }},
		{"meta", false, func(c context.Context, s *Store) error { return drop(s.Meta(c, "q")) }},
		{"limit ttl", false, func(c context.Context, s *Store) error { return drop(s.RateLimitTTL(c, "q", 0)) }},
		{"workers", false, func(c context.Context, s *Store) error { return drop(s.Workers(c, "q")) }},
		{"dependency counts", false, func(c context.Context, s *Store) error { return drop(s.DependencyCounts(c, "q", "1")) }},
		{"dependencies", false, func(c context.Context, s *Store) error {
			return second(s.Dependencies(c, "q", "1", storage.DependencyProcessed, 0, 10))
		}},
		{"children", false, func(c context.Context, s *Store) error { return drop(s.Children(c, "bull:q:1")) }},
		{"names", false, func(c context.Context, s *Store) error { return drop(s.Names(c, "bull:q:1", "bull:q:2")) }},
		{"read flow", false, func(c context.Context, s *Store) error { return drop(s.ReadFlow(c, 3, "bull:q:1")) }},
		{"dedup job", false, func(c context.Context, s *Store) error { return drop(s.DedupJobID(c, "q", "d")) }},
		{"events", false, func(c context.Context, s *Store) error { return drop(s.ReadEvents(c, "q", "", time.Millisecond)) }},
		{"last event", false, func(c context.Context, s *Store) error { return drop(s.LastEvent(c, "q")) }},
		{"wait", false, func(c context.Context, s *Store) error {
			w := s.NewWaiter("q", "w")
			defer func() { _ = w.Close() }()
			return drop(w.Wait(c, 2*time.Millisecond))
		}},
	}
}

// TestRepliesOfAnyShapeAreNoPanic answers every operation with random replies: an
// operation ends without a panic, and its error has a kind or names a refusal. An
// answer to a write that makes no sense is never said to have written nothing.
func TestRepliesOfAnyShapeAreNoPanic(t *testing.T) {
	t.Parallel()
	const rounds = 60
	for i, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			h := hostile{rand.New(rand.NewPCG(uint64(i), 1))}
			var mu sync.Mutex
			calls := 0
			f := testredis.StartFake(t, func(args []string) string {
				if strings.EqualFold(args[0], "info") {
					return "-ERR unknown command\r\n"
				}
				mu.Lock()
				defer mu.Unlock()
				if calls++; calls > 200 { // a step that asks for ever is ended
					return ""
				}
				return h.reply(3)
			})
			for n := range rounds {
				mu.Lock()
				calls = 0
				mu.Unlock()
				s, err := Open(f.URL()+"?protocol=2&read_timeout=200ms", Logger(slog.New(slog.DiscardHandler)))
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				err = op.call(ctx, s)
				cancel()
				_ = s.Close()
				var refused *storage.Error
				require.True(t, err == nil || storage.Kind(err) != nil || errors.As(err, &refused), "round %d: %v", n, err)
				if op.writes {
					require.NotErrorIs(t, err, storage.ErrInvalid, "round %d", n)
					require.NotErrorIs(t, err, storage.ErrUnavailable, "round %d", n)
				}
			}
		})
	}
}
