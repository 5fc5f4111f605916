package behaviour

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	dedupgen "example.com/DedupInEveryMode/gen"
	dedup "example.com/DedupInEveryMode/tasks"
	everygen "example.com/EveryDirectiveOnOneTask/gen"
	every "example.com/EveryDirectiveOnOneTask/tasks"
	keepgen "example.com/KeepInEveryForm/gen"
	keep "example.com/KeepInEveryForm/tasks"
	embeddedgen "example.com/KeysInEmbeddedStructs/gen"
	embedded "example.com/KeysInEmbeddedStructs/tasks"
	keysgen "example.com/KeysOfEveryKind/gen"
	keys "example.com/KeysOfEveryKind/tasks"
	retrygen "example.com/RetryInEveryMode/gen"
	retry "example.com/RetryInEveryMode/tasks"
	twogen "example.com/TwoTasksForOnePayload/gen"
	two "example.com/TwoTasksForOnePayload/tasks"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/bullmqtest"
)

// Each line adds a job and says which options it is stored with.
func TestOptionsOfJobs(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	ctx, c := deadline(t), env.Client
	hour := func(n int) time.Duration { return time.Duration(n) * time.Hour }
	for name, line := range map[string]struct {
		add  func() (queue, id string, err error)
		want bullmq.Options
	}{
		"every directive": {
			func() (string, string, error) {
				return added(everygen.EnqueueSendWelcome(ctx, c, every.SendWelcome{ID: "w-1", UserID: "u,1", Locale: "de", Rank: 7}))
			},
			bullmq.Options{
				JobID: "send-welcome/w-1", Priority: 7, LIFO: true, Attempts: 5, SizeLimit: 64 << 10, Timeout: 30 * time.Second, TTL: time.Hour,
				Backoff:       bullmq.Backoff{Type: "exponential", Delay: time.Second, Jitter: 0.2, Max: time.Minute},
				KeepCompleted: bullmq.KeepNone(), KeepFailed: &bullmq.Retention{Count: 1000, Age: hour(168)},
				Dedup: &bullmq.Dedup{ID: `send-welcome/u\,1,de`, TTL: 10 * time.Minute, Extend: true, Replace: true},
			},
		},
		"the call comes last": {
			func() (string, string, error) {
				return added(everygen.EnqueueSendWelcome(ctx, c, every.SendWelcome{ID: "w-2", UserID: "u2"}, bullmq.Attempts(1), bullmq.LIFO(false),
					bullmq.WithBackoff(bullmq.Backoff{}), bullmq.Timeout(0), bullmq.TTL(0), bullmq.SizeLimit(0), bullmq.KeepFailed(bullmq.KeepAll()), bullmq.KeepCompleted(bullmq.KeepLast(3))))
			},
			bullmq.Options{
				JobID: "send-welcome/w-2", Attempts: 1, KeepCompleted: bullmq.KeepLast(3), KeepFailed: bullmq.KeepAll(),
				Dedup: &bullmq.Dedup{ID: "send-welcome/u2,", TTL: 10 * time.Minute, Extend: true, Replace: true},
			},
		},
		"numbers and waits": {
			func() (string, string, error) {
				return added(keysgen.EnqueueInt(ctx, c, keys.Int{ID: "i", Rank: 2097151, Wait: 1500}))
			},
			bullmq.Options{JobID: "int/i", Priority: 2097151, Delay: 1500 * time.Millisecond, Dedup: &bullmq.Dedup{ID: "int/i"}},
		},
		"named types, and a time that is over": {
			func() (string, string, error) {
				return added(keysgen.EnqueueNamed(ctx, c, keys.Named{ID: "n", Rank: 3, At: time.Unix(1, 0)}))
			},
			bullmq.Options{JobID: "named/n", Priority: 3},
		},
		"keys of every type": {
			func() (string, string, error) {
				text, rank := "x", keys.Rank(9)
				at := time.Date(2024, 2, 29, 12, 0, 0, 0, time.FixedZone("", 3600))
				return added(keysgen.EnqueueDedup(ctx, c, keys.Dedup{A: "a", B: "b", C: -3, D: true, E: 0.5, F: at, G: &text, I: &rank, K: "not a key"}))
			},
			bullmq.Options{Dedup: &bullmq.Dedup{ID: `dedup/a,b,-3,true,0.5,2024-02-29T11\.00\.00Z,x,~,9,0001-01-01T00\.00\.00Z`}},
		},
		"keys of embedded structs": {
			func() (string, string, error) {
				return added(embeddedgen.EnqueueDo(ctx, c, embedded.Do{Deep: embedded.Deep{Tenant: embedded.Tenant{ID: "t"}}, ID: "d"}))
			},
			bullmq.Options{Dedup: &bullmq.Dedup{ID: "do/t,d"}},
		},
		"dedup: simple": {
			func() (string, string, error) { return added(dedupgen.EnqueueSimple(ctx, c, dedup.Simple{K: "1"})) },
			bullmq.Options{Dedup: &bullmq.Dedup{ID: "simple/1"}},
		},
		"dedup: keep last": {
			func() (string, string, error) { return added(dedupgen.EnqueueLast(ctx, c, dedup.Last{K: "2"})) },
			bullmq.Options{Dedup: &bullmq.Dedup{ID: "last/2", KeepLastIfActive: true}},
		},
		"dedup: reschedule": {
			func() (string, string, error) { return added(dedupgen.EnqueueMove(ctx, c, dedup.Move{K: "3"})) },
			bullmq.Options{Dedup: &bullmq.Dedup{ID: "move/3", TTL: time.Minute, Reschedule: true}},
		},
		"kept: the task's word": {
			func() (string, string, error) { return added(keepgen.EnqueueDoA(ctx, c, keep.DoA{})) },
			bullmq.Options{KeepCompleted: &bullmq.Retention{Count: 5000, Age: 90 * time.Minute}, KeepFailed: bullmq.KeepAll()},
		},
		"attempts alone": {
			func() (string, string, error) { return added(retrygen.EnqueueA(ctx, c, retry.A{})) },
			bullmq.Options{Attempts: 3},
		},
		"a fixed backoff": {
			func() (string, string, error) { return added(retrygen.EnqueueB(ctx, c, retry.B{})) },
			bullmq.Options{Attempts: 3, Backoff: bullmq.Fixed(1500 * time.Millisecond)},
		},
		"a strategy of one's own": {
			func() (string, string, error) { return added(retrygen.EnqueueD(ctx, c, retry.D{})) },
			bullmq.Options{Attempts: 10, Backoff: bullmq.Backoff{Type: "moon-phase"}},
		},
		"lifo": {
			func() (string, string, error) {
				return added(twogen.EnqueueResizeNow(ctx, c, two.ResizeNow{Path: "p"}))
			},
			bullmq.Options{LIFO: true},
		},
	} {
		queue, id, err := line.add()
		require.NoError(t, err, name)
		r, err := c.Queue(queue).Job(ctx, id)
		require.NoError(t, err, name)
		got := options(t, r)
		got.Timestamp, got.Parent, got.Unknown = time.Time{}, nil, nil
		require.Equal(t, line.want, got, name)
	}
}

// added is what a call of a generated function comes to.
func added[R any](h *bullmq.JobHandle[R], err error) (queue, id string, _ error) {
	if err != nil {
		return "", "", err
	}
	return h.Queue, h.ID, nil
}

func TestDeduplication(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	ctx, c := deadline(t), env.Client
	for name, add := range map[string]func(k string) (existing bool, err error){
		"simple":     func(k string) (bool, error) { return existing(dedupgen.EnqueueSimple(ctx, c, dedup.Simple{K: k})) },
		"plain":      func(k string) (bool, error) { return existing(dedupgen.EnqueuePlain(ctx, c, dedup.Plain{K: k})) },
		"throttle":   func(k string) (bool, error) { return existing(dedupgen.EnqueueThrottle(ctx, c, dedup.Throttle{K: k})) },
		"keep last":  func(k string) (bool, error) { return existing(dedupgen.EnqueueLast(ctx, c, dedup.Last{K: k})) },
		"reschedule": func(k string) (bool, error) { return existing(dedupgen.EnqueueMove(ctx, c, dedup.Move{K: k})) },
	} {
		for i, want := range []bool{false, true, true} {
			got, err := add(name)
			require.NoError(t, err, name)
			require.Equal(t, want, got, "%s, add %d", name, i)
		}
		got, err := add(name + " of another key")
		require.NoError(t, err)
		require.False(t, got, name)
		_, err = add("")
		require.ErrorContains(t, err, "dedup", "%s: a key without content", name)
	}
	// The last add replaces one that still waits.
	first, err := dedupgen.EnqueueDebounce(ctx, c, dedup.Debounce{K: "k"}, bullmq.Delay(time.Hour))
	require.NoError(t, err)
	second, err := dedupgen.EnqueueDebounce(ctx, c, dedup.Debounce{K: "k"}, bullmq.Delay(time.Hour))
	require.NoError(t, err)
	require.NotEqual(t, first.ID, second.ID)
	require.Equal(t, second.ID, bullmqtest.RequireEnqueued(t, env, dedupgen.DebounceTask).ID)
}

func existing[R any](h *bullmq.JobHandle[R], err error) (bool, error) {
	if err != nil {
		return false, err
	}
	return h.Existing, nil
}

func TestJobIDs(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	ctx := deadline(t)
	for i, want := range []bool{false, true} {
		h, err := keysgen.EnqueueNamed(ctx, env.Client, keys.Named{ID: "once"})
		require.NoError(t, err)
		require.Equal(t, "named/once", h.ID)
		require.Equal(t, want, h.Existing, "add %d", i)
	}
	require.Equal(t, keys.Named{ID: "once"}, bullmqtest.RequireEnqueued(t, env, keysgen.NamedTask).Data)
	number, err := keysgen.EnqueueNamed(ctx, env.Client, keys.Named{ID: "12"})
	require.NoError(t, err)
	require.Equal(t, "named/12", number.ID, "an integer would be no custom id")
}

func TestPayloadOverItsSizeLimit(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	big := every.SendWelcome{ID: "big", UserID: string(make([]byte, 64<<10))}
	_, err := everygen.EnqueueSendWelcome(context.Background(), env.Client, big)
	require.ErrorContains(t, err, "more than the limit of 65536")
	bullmqtest.RequireNotEnqueued(t, env, everygen.SendWelcomeTask)
}
