package bullmq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// ways are what a function of the program's may do instead of returning.
var ways = map[string]func(){
	"panic":                            func() { panic("oh no") },
	"panic(nil)":                       func() { panic(nil) },
	"panic with an error without text": func() { panic(rudeError{func() { panic("no text") }}) },
	"Goexit":                           runtime.Goexit,
}

// rudeError is an error of which no method returns.
type rudeError struct{ how func() }

func (e rudeError) Error() string    { e.how(); return "" }
func (e rudeError) Unwrap() error    { e.how(); return nil }
func (e rudeError) Is(error) bool    { e.how(); return false }
func (e rudeError) As(any) bool      { e.how(); return false }
func (e rudeError) Timeout() bool    { e.how(); return false }
func (e rudeError) String() string   { e.how(); return "" }
func (e rudeError) GoString() string { e.how(); return "" }

// seam is a place where the worker calls a function of the program's.
type seam struct {
	opts    func(bad func()) []WorkerOption
	client  func(bad func()) []ClientOption
	handler func(ctx context.Context, job *Job[greet], bad func()) (greeting, error)
	add     []AddOption
	want    State // of the job that meets it
	task    func(k *kit, bad func()) *Task[greet, greeting]
}

func onlyBad(bad func()) func(*ActiveJob) {
	return func(j *ActiveJob) {
		if j.ID == "bad" {
			bad()
		}
	}
}

// seams are all places where a worker calls functions of the program's.
func seams() map[string]seam {
	fails := func(_ context.Context, job *Job[greet], _ func()) (greeting, error) {
		if job.ID == "bad" {
			return greeting{}, errors.New("fails")
		}
		return greeting{}, nil
	}
	hooks := func(h func(on func(*ActiveJob)) Hooks) func(func()) []WorkerOption {
		return func(bad func()) []WorkerOption { return []WorkerOption{WithHooks(h(onlyBad(bad)))} }
	}
	return map[string]seam{
		"handler": {want: StateFailed, handler: func(_ context.Context, job *Job[greet], bad func()) (greeting, error) {
			onlyBad(bad)(job.ActiveJob)
			return greeting{}, nil
		}},
		"methods of the handler's error": {want: StateFailed, handler: func(_ context.Context, job *Job[greet], bad func()) (greeting, error) {
			if job.ID == "bad" {
				return greeting{}, rudeError{bad}
			}
			return greeting{}, nil
		}},
		"methods of an error that is wrapped": {want: StateFailed, handler: func(_ context.Context, job *Job[greet], bad func()) (greeting, error) {
			if job.ID == "bad" {
				return greeting{}, &wrapsRude{rudeError{bad}}
			}
			return greeting{}, nil
		}},
		"step": {want: StateFailed, handler: func(ctx context.Context, job *Job[greet], bad func()) (greeting, error) {
			return greeting{}, Do(ctx, job, "s", func(context.Context) error { onlyBad(bad)(job.ActiveJob); return nil })
		}},
		"hook Active": {want: StateCompleted, opts: hooks(func(on func(*ActiveJob)) Hooks { return Hooks{Active: on} })},
		"hook Completed": {want: StateCompleted, opts: hooks(func(on func(*ActiveJob)) Hooks {
			return Hooks{Completed: func(j *ActiveJob, _ []byte) { on(j) }}
		})},
		"hook Failed": {want: StateFailed, handler: fails, opts: hooks(func(on func(*ActiveJob)) Hooks {
			return Hooks{Failed: func(j *ActiveJob, _ error, _ bool) { on(j) }}
		})},
		"hook Progress": {want: StateCompleted, handler: func(ctx context.Context, job *Job[greet], _ func()) (greeting, error) {
			return greeting{}, job.UpdateProgress(ctx, 1)
		}, opts: hooks(func(on func(*ActiveJob)) Hooks { return Hooks{Progress: func(j *ActiveJob, _ []byte) { on(j) }} })},
		"key of a group limit": {want: StateFailed, opts: func(bad func()) []WorkerOption {
			return []WorkerOption{GroupLimit(100, time.Hour, func(j *ActiveJob) string { onlyBad(bad)(j); return "g" })}
		}},
		"key function of the task, of a group": {want: StateFailed,
			opts: func(func()) []WorkerOption { return []WorkerOption{GroupLimit(100, time.Hour, nil)} },
			task: func(k *kit, bad func()) *Task[greet, greeting] {
				return NewTask[greet, greeting](Spec{Queue: k.queue, Name: "greet"}, func(g *greet) PayloadOptions {
					if g.Fail == 1 {
						bad()
					}
					return PayloadOptions{}
				})
			}},
		"backoff strategy": {want: StateFailed, handler: fails, add: []AddOption{Attempts(3), WithBackoff(Backoff{Type: "own"})},
			opts: func(bad func()) []WorkerOption {
				return []WorkerOption{WithBackoffStrategy("own", func(int, *ActiveJob, error) time.Duration { bad(); return 0 })}
			}},
		"codec": {want: StateFailed, task: func(k *kit, bad func()) *Task[greet, greeting] {
			return NewTask[greet, greeting](Spec{Queue: k.queue, Name: "greet", Codec: func() Codec { return rudeCodec{bad} }}, nil)
		}},
		"upgrade": {want: StateFailed, task: func(k *kit, bad func()) *Task[greet, greeting] {
			return NewTask[greet, greeting](Spec{Queue: k.queue, Name: "new", Upgrades: []Upgrade{
				UpgradeFrom("greet", func(g greet) (greet, error) {
					if g.Fail == 1 {
						bad()
					}
					return g, nil
				}),
			}}, nil)
		}},
		"clock": {want: StateCompleted, client: func(bad func()) []ClientOption {
			return []ClientOption{WithClock(func() time.Time { bad(); return time.Now() })}
		}},
		"logger": {want: StateFailed, handler: fails, client: func(bad func()) []ClientOption {
			return []ClientOption{WithLogger(slog.New(rudeLog{slog.NewTextHandler(io.Discard, nil), bad}))}
		}},
	}
}

type wrapsRude struct{ err rudeError }

func (e *wrapsRude) Error() string { return "wraps" }
func (e *wrapsRude) Unwrap() error { return e.err }

// rudeCodec does not return for the job "bad".
type rudeCodec struct{ how func() }

func (c rudeCodec) Encode(text []byte, _ CodecInfo) ([]byte, error) { return text, nil }
func (c rudeCodec) Decode(text []byte, of CodecInfo) ([]byte, error) {
	var g greet
	if json.Unmarshal(text, &g) == nil && g.Fail == 1 && of.Part == PartData {
		c.how()
	}
	return text, nil
}

type rudeLog struct {
	slog.Handler
	how func()
}

func (h rudeLog) Handle(context.Context, slog.Record) error { h.how(); return nil }
func (h rudeLog) WithAttrs([]slog.Attr) slog.Handler        { h.how(); return h }

// TestNoFunctionOfTheProgramHarmsTheWorker: whatever such a function does for one
// job, that job ends, others run, and the slot is free.
func TestNoFunctionOfTheProgramHarmsTheWorker(t *testing.T) {
	t.Parallel()
	for name, s := range seams() {
		for way, bad := range ways {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				s.test(t, bad)
			})
		}
	}
}

func (s seam) test(t *testing.T, bad func()) {
	var clientOpts []ClientOption
	if s.client != nil {
		clientOpts = s.client(bad)
	}
	k := newKit(t, testredis.Any(t), clientOpts...)
	producer := newKit(t, k.server)
	_, err := producer.task.Add(k.ctx, producer.client, greet{Name: "bad", Fail: 1}, append(s.add, JobID("bad"))...)
	require.NoError(t, err)
	for i := range 3 {
		producer.add("good", JobID(fmt.Sprint("good-", i)))
	}
	var opts []WorkerOption
	if s.opts != nil {
		opts = s.opts(bad)
	}
	task := k.task
	if s.task != nil {
		task = s.task(k, bad)
	}
	w, err := NewWorker(k.client, k.queue, append(opts, GracePeriod(patience))...)
	require.NoError(t, err)
	task.Handle(w, func(ctx context.Context, job *Job[greet]) (greeting, error) {
		if s.handler == nil {
			return greeting{}, nil
		}
		return s.handler(ctx, job, bad)
	})
	require.NoError(t, w.Start(k.ctx))
	want := map[State]int{StateCompleted: 3}
	want[s.want]++
	producer.settled(want)
	require.Equal(t, s.want, producer.state("bad"))
	require.NoError(t, w.Stop(k.ctx))
	require.Zero(t, w.Running())
	producer.noLocks()
}

func (k *kit) state(id string) State {
	k.Helper()
	s, err := k.client.Queue(k.queue.Name).State(k.ctx, id)
	require.NoError(k, err)
	return s
}

// A hook that ends its goroutine, as a failed assertion of a test does, takes no
// other hook with it.
func TestAllHooksAreCalledWhateverTheyDo(t *testing.T) {
	t.Parallel()
	for way, bad := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, testredis.Any(t))
			var called recorder
			hook := func(name string) func(*ActiveJob) {
				return func(j *ActiveJob) { called.note(name); bad() }
			}
			completed := hook("completed")
			w := k.worker(hello, WithHooks(Hooks{Active: hook("active"), Completed: func(j *ActiveJob, _ []byte) { completed(j) }}))
			for range 5 {
				k.result(k.add("a"))
			}
			require.NoError(t, w.Stop(k.ctx))
			require.Len(t, called.all(), 10)
		})
	}
}

// What a producer's functions do becomes the error of its call.
func TestFunctionsOfAProducerBecomeErrors(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	keys := NewTask[greet, greeting](Spec{Queue: k.queue, Name: "keys"}, func(*greet) PayloadOptions { panic("oh no") })
	set := NewScheduleSet("o", k.task.DeclareSchedule("s", ScheduleSpec{Every: time.Hour}, func() (greet, error) { panic("oh no") }))
	for name, err := range map[string]error{
		"Add":      second(keys.Add(k.ctx, k.client, greet{})),
		"AddMany":  second(keys.AddMany(k.ctx, k.client, []greet{{}})),
		"AddFlow":  second(k.client.AddFlows(k.ctx, keys.Node(greet{}))),
		"Schedule": second(k.client.Queue("greetings").UpsertSchedules(k.ctx, []Schedule{keys.NewSchedule("s", ScheduleSpec{Every: time.Hour}, greet{})})),
		"Ensure":   set.Ensure(k.ctx, k.client),
	} {
		require.ErrorContains(t, err, "panicked: oh no", name)
		onlyKind(t, err, ErrInvalid)
	}
	require.Empty(t, k.counts())
}
