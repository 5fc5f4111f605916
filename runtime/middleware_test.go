package bullmq

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// trail notes in which order functions are called.
type trail struct {
	mu   sync.Mutex
	seen []string
}

func (t *trail) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = append(t.seen, fmt.Sprintf(format, args...))
}

func (t *trail) around(name string) HandleMiddleware {
	return func(next HandleFunc) HandleFunc {
		return func(ctx context.Context, job *ActiveJob) error {
			t.note("%s before %s", name, job.Name)
			err := next(ctx, job)
			t.note("%s after %v", name, err)
			return err
		}
	}
}

func TestMiddlewareOfClientWorkerAndTaskWrapTheHandlerInThisOrder(t *testing.T) {
	t.Parallel()
	var seen trail
	k := newKit(t, testredis.Any(t), WithHandleMiddleware(seen.around("client")))
	typed := func(next func(context.Context, *Job[greet]) (greeting, error)) func(context.Context, *Job[greet]) (greeting, error) {
		return func(ctx context.Context, job *Job[greet]) (greeting, error) {
			seen.note("task with %s", job.Data.Name)
			g, err := next(ctx, job)
			g.Text += "!"
			return g, err
		}
	}
	k.worker(hello, WithHandleMiddleware(seen.around("first"), seen.around("second")), WithTaskMiddleware(k.task, typed))
	require.Equal(t, greeting{"hello ann!", 1}, k.result(k.add("ann")))
	require.Equal(t, []string{
		"client before greet", "first before greet", "second before greet", "task with ann", "second after <nil>", "first after <nil>", "client after <nil>",
	}, seen.seen)
}

func TestMiddlewareChangesTheContextAndTheError(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	type key struct{}
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		if job.Data.Name == "panic" {
			panic("at work")
		}
		return greeting{Text: ctx.Value(key{}).(string)}, nil
	}, WithHandleMiddleware(func(next HandleFunc) HandleFunc {
		return func(ctx context.Context, job *ActiveJob) (err error) {
			defer func() {
				if r := recover(); r != nil {
					err = Unrecoverable(fmt.Errorf("recovered: %v", r))
				}
			}()
			return next(context.WithValue(ctx, key{}, "from the middleware"), job)
		}
	}))
	require.Equal(t, "from the middleware", k.result(k.add("ann")).Text)
	_, err := k.add("panic", Attempts(3)).Result(k.ctx)
	require.ErrorContains(t, err, "recovered: at work")
}

func TestAMiddlewareThatDoesNotCallNextFailsTheJob(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	refuse := errors.New("not this tenant")
	k.worker(hello, WithHandleMiddleware(func(next HandleFunc) HandleFunc {
		return func(ctx context.Context, job *ActiveJob) error {
			switch job.Priority {
			case 1:
				return nil
			case 2:
				return Unrecoverable(refuse)
			case 3:
				panic("in the middleware")
			case 4:
				return errors.Join(next(ctx, job), next(ctx, job)) // twice: the last result counts
			}
			return next(ctx, job)
		}
	}))
	for priority, want := range map[int]string{1: "without calling next", 2: refuse.Error(), 3: "panic: in the middleware"} {
		_, err := k.add("ann", Priority(priority), Attempts(1)).Result(k.ctx)
		require.ErrorContains(t, err, want)
	}
	require.Equal(t, "hello ann", k.result(k.add("ann", Priority(4))).Text)
}

func TestMiddlewareThatCannotWorkIsRefusedBeforeTheWorkerStarts(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	_, err := NewClient(k.store, WithHandleMiddleware(nil))
	require.ErrorContains(t, err, "a middleware is nil")
	_, err = NewClient(k.store, WithAddMiddleware(nil))
	require.ErrorContains(t, err, "a middleware is nil")
	_, err = NewWorker(k.client, k.queue, WithHandleMiddleware(nil), WithTaskMiddleware(k.task, nil))
	require.ErrorContains(t, err, "a middleware is nil")
	require.ErrorContains(t, err, `the middleware of task "greet" is nil`)
	_, err = NewWorker(k.client, &QueueSpec{Name: "other"}, WithTaskMiddleware(k.task, func(next func(context.Context, *Job[greet]) (greeting, error)) func(context.Context, *Job[greet]) (greeting, error) {
		return next
	}))
	require.ErrorContains(t, err, `task "greet", which belongs to queue "greetings"`)
	for want, m := range map[string]HandleMiddleware{
		"returned a nil function": func(HandleFunc) HandleFunc { return nil },
		"a middleware panicked":   func(HandleFunc) HandleFunc { panic("no") },
	} {
		w, err := NewWorker(k.client, k.queue, WithHandleMiddleware(m))
		require.NoError(t, err)
		k.task.Handle(w, hello)
		require.ErrorContains(t, w.Start(k.ctx), want)
	}
}

// calls notes the calls that add jobs, as middleware sees them.
func (t *trail) calls(next AddFunc) AddFunc {
	return func(ctx context.Context, call *AddCall) error {
		for _, j := range call.Jobs {
			t.note("%d %s/%s %T below %d", call.Kind, j.Queue, j.Name, j.Payload, j.Parent)
		}
		err := next(ctx, call)
		for _, j := range call.Jobs {
			if j.ID == "" {
				t.note("no id")
			}
		}
		return err
	}
}

func TestMiddlewareSeesEveryCallThatAddsJobs(t *testing.T) {
	t.Parallel()
	var seen trail
	k := newKit(t, testredis.Any(t), WithAddMiddleware(seen.calls))
	k.add("ann")
	_, err := k.task.AddMany(k.ctx, k.client, []greet{{Name: "bob"}, {Name: "cyd"}})
	require.NoError(t, err)
	_, err = k.client.Queue("greetings").Add(k.ctx, "greet", greet{Name: "dan"})
	require.NoError(t, err)
	k.addReport(slotsOf(logoOf(), pageOf(1)))
	_, err = k.client.AddFlows(k.ctx, NewNode("q", "plain", 1))
	require.NoError(t, err)
	require.Equal(t, []string{
		"0 greetings/greet *bullmq.greet below -1",
		"1 greetings/greet *bullmq.greet below -1", "1 greetings/greet *bullmq.greet below -1",
		"0 greetings/greet *json.RawMessage below -1",
		"2 reports/build-report *bullmq.report below -1", "2 pages/render-page *bullmq.page below 0", "2 pages/fetch-logo *bullmq.logo below 0",
		"2 q/plain *json.RawMessage below -1",
	}, seen.seen)
}

func TestMiddlewareChangesTheOptionsOfJobsThatAreAdded(t *testing.T) {
	t.Parallel()
	first := func(next AddFunc) AddFunc {
		return func(ctx context.Context, call *AddCall) error {
			for _, j := range call.Jobs {
				j.Options.Attempts++
				j.Options.Priority = 7
			}
			return next(ctx, call)
		}
	}
	k := newKit(t, testredis.Any(t), WithAddMiddleware(first, first))
	require.Equal(t, 5, k.attempts("greetings", k.add("ann", Attempts(3)).ID))
	hs, err := k.task.AddMany(k.ctx, k.client, []greet{{Name: "bob"}})
	require.NoError(t, err)
	require.Equal(t, 2, k.attempts("greetings", hs[0].ID))
	added, err := k.client.AddFlows(k.ctx, &Node{Queue: "parents", Name: "p", Data: []byte("1"), Children: []*Node{NewNode("children", "c", 1)}})
	require.NoError(t, err)
	require.Equal(t, 2, k.attempts("parents", added[0].ID))
	require.Equal(t, 2, k.attempts("children", added[0].Children[0].ID))
	counts, err := k.client.Queue("greetings").Counts(k.ctx, StatePrioritized)
	require.NoError(t, err)
	require.Equal(t, 2, counts[StatePrioritized])
}

// attempts returns the stored number of attempts of a job.
func (k *kit) attempts(queue, id string) int {
	k.Helper()
	r, err := k.client.Queue(queue).Job(k.ctx, id)
	require.NoError(k, err)
	o, err := ParseOptions(r.Opts)
	require.NoError(k, err)
	return o.Attempts
}

func TestMiddlewareRefusesACallBeforeAnythingIsAdded(t *testing.T) {
	t.Parallel()
	refused := errors.New("over quota")
	for want, m := range map[string]AddMiddleware{
		"over quota":                   func(AddFunc) AddFunc { return func(context.Context, *AddCall) error { return refused } },
		"without calling next":         func(AddFunc) AddFunc { return func(context.Context, *AddCall) error { return nil } },
		"a middleware panicked: no":    func(AddFunc) AddFunc { return func(context.Context, *AddCall) error { panic("no") } },
		"returned a nil function":      func(AddFunc) AddFunc { return nil },
		"priority must be from 0":      options(func(o *Options) { o.Priority = -1 }),
		"removed the options of job":   func(next AddFunc) AddFunc { return withoutOptions(next) },
		"deduplication needs an id; i": options(func(o *Options) { o.Dedup = &Dedup{} }),
	} {
		k := newKit(t, testredis.Any(t), WithAddMiddleware(m))
		_, err := k.task.Add(k.ctx, k.client, greet{Name: "ann"})
		require.ErrorContains(t, err, want)
		_, err = k.task.AddMany(k.ctx, k.client, []greet{{Name: "ann"}, {Name: "bob"}})
		require.ErrorContains(t, err, want)
		_, err = k.client.AddFlows(k.ctx, NewNode("greetings", "greet", 1))
		require.ErrorContains(t, err, want)
		require.Empty(t, k.counts(), want)
	}
}

func options(change func(*Options)) AddMiddleware {
	return func(next AddFunc) AddFunc {
		return func(ctx context.Context, call *AddCall) error {
			for _, j := range call.Jobs {
				change(j.Options)
			}
			return next(ctx, call)
		}
	}
}

func withoutOptions(next AddFunc) AddFunc {
	return func(ctx context.Context, call *AddCall) error {
		call.Jobs[0].Options = nil
		return next(ctx, call)
	}
}

func TestANextThatIsCalledTwiceAddsOnce(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t), WithAddMiddleware(func(next AddFunc) AddFunc {
		return func(ctx context.Context, call *AddCall) error { return errors.Join(next(ctx, call), next(ctx, call)) }
	}))
	_, err := k.task.Add(k.ctx, k.client, greet{Name: "ann"})
	require.ErrorContains(t, err, "called next twice")
	require.Equal(t, map[State]int{StateWaiting: 1}, k.counts())
}

func TestMiddlewareSeesAnAddOfAJobThatWasThere(t *testing.T) {
	t.Parallel()
	var existing []bool
	k := newKit(t, testredis.Any(t), WithAddMiddleware(func(next AddFunc) AddFunc {
		return func(ctx context.Context, call *AddCall) error {
			err := next(ctx, call)
			existing = append(existing, call.Jobs[0].Existing)
			require.Equal(t, "mine", call.Jobs[0].ID)
			return err
		}
	}))
	k.add("ann", JobID("mine"))
	require.True(t, k.add("ann", JobID("mine")).Existing)
	require.Equal(t, []bool{false, true}, existing)
}
