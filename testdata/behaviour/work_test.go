package behaviour

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	requiredgen "example.com/EmbeddedStructsFollowEncodingJSON/gen"
	required "example.com/EmbeddedStructsFollowEncodingJSON/tasks"
	everygen "example.com/EveryDirectiveOnOneTask/gen"
	every "example.com/EveryDirectiveOnOneTask/tasks"
	genericgen "example.com/GenericTypesWithArguments/gen"
	generic "example.com/GenericTypesWithArguments/tasks"
	namesgen "example.com/JobNamesThatAreNoIdentifiers/gen"
	names "example.com/JobNamesThatAreNoIdentifiers/tasks"
	keepgen "example.com/KeepInEveryForm/gen"
	keep "example.com/KeepInEveryForm/tasks"
	groupgen "example.com/LimitForEachGroup/gen"
	group "example.com/LimitForEachGroup/tasks"
	manygen "example.com/ManyTasksOnTwoQueues/gen"
	many "example.com/ManyTasksOnTwoQueues/tasks"
	payloadgen "example.com/PayloadsThatAreNoStructs/gen"
	payload "example.com/PayloadsThatAreNoStructs/tasks"
	resultgen "example.com/ResultsOfEveryShape/gen"
	result "example.com/ResultsOfEveryShape/tasks"
	retrygen "example.com/RetryInEveryMode/gen"
	retry "example.com/RetryInEveryMode/tasks"
	nonegen "example.com/TaskWithoutResult/gen"
	none "example.com/TaskWithoutResult/tasks"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/bullmqtest"
)

// reports handles all but one task of its queue.
type reports struct {
	manygen.UnimplementedReportsHandler
}

func (reports) RenderPage(_ context.Context, job *bullmq.Job[many.RenderPage]) (string, error) {
	return "page " + string(rune('0'+job.Data.Number)), nil
}

func TestHandlerOfAQueue(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	ctx := deadline(t)
	work(t, env, manygen.ReportsQueue, func(w *bullmq.Worker) { manygen.HandleReports(w, reports{}) })
	handles, err := manygen.EnqueueManyRenderPage(ctx, env.Client, []many.RenderPage{{Number: 1}, {Number: 2}, {Number: 3}})
	require.NoError(t, err)
	for i, want := range []string{"page 1", "page 2", "page 3"} {
		got, err := handles[i].Result(ctx)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	left, err := manygen.EnqueueBuildReport(ctx, env.Client, many.BuildReport{}, bullmq.Attempts(5))
	require.NoError(t, err)
	_, err = left.Result(ctx)
	require.ErrorContains(t, err, "build-report is not implemented")
	require.Equal(t, 1, reaches(t, env, "reports", left.ID, bullmq.StateFailed).AttemptsMade, "it is not tried again")
}

func TestWorkerWithoutAHandlerDoesNotStart(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	w, err := bullmq.NewWorker(env.Client, manygen.ReportsQueue)
	require.NoError(t, err)
	manygen.HandleRenderPage(w, reports{}.RenderPage)
	require.ErrorContains(t, w.Start(context.Background()), "build-report")
}

func TestTaskWithoutResult(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	ctx := deadline(t)
	var fail atomic.Bool
	work(t, env, nonegen.JanitorQueue, func(w *bullmq.Worker) {
		nonegen.HandleCleanUp(w, func(context.Context, *bullmq.Job[none.CleanUp]) error {
			if fail.Load() {
				return errors.New("no broom")
			}
			return nil
		})
	})
	h, err := nonegen.EnqueueCleanUp(ctx, env.Client, none.CleanUp{})
	require.NoError(t, err)
	_, err = h.Result(ctx)
	require.NoError(t, err)
	require.Equal(t, "null", string(reaches(t, env, "janitor", h.ID, bullmq.StateCompleted).ReturnValue))
	fail.Store(true)
	h, err = nonegen.EnqueueCleanUp(ctx, env.Client, none.CleanUp{})
	require.NoError(t, err)
	_, err = h.Result(ctx)
	require.ErrorIs(t, err, bullmq.ErrJobFailed)
	require.ErrorContains(t, err, "no broom")
}

// returns is a handler with that result.
func returns[P, R any](r R) func(context.Context, *bullmq.Job[P]) (R, error) {
	return func(context.Context, *bullmq.Job[P]) (R, error) { return r, nil }
}

func TestResultsComeBack(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 1, 2, 3, 4, 5, 6, time.UTC)
	same(t, resultgen.ATask, result.R{})
	same(t, resultgen.BTask, &result.R{})
	same(t, resultgen.BTask, nil)
	same(t, resultgen.CTask, []result.R{{}, {}})
	same(t, resultgen.DTask, map[string]result.R{"a": {}})
	same(t, resultgen.ETask, at)
	same(t, resultgen.FTask, []byte{0, 255})
	same(t, resultgen.GTask, [2]int{1, 2})
	same(t, resultgen.HTask, json.RawMessage(`{"a":[1]}`))
	same(t, resultgen.ITask, map[string][]*result.R{"x": {nil, {}}})
	same(t, resultgen.JTask, true)
	same(t, resultgen.KTask, struct {
		A int
		B string
	}{1, "<&>"})
	same(t, genericgen.UserPageTask, generic.Page[generic.User]{Items: []generic.User{{ID: "u"}}, Next: "n"})
}

func same[P, R any](t *testing.T, task *bullmq.Task[P, R], want R) {
	t.Helper()
	var p P
	got, err := bullmqtest.Work(t, task, returns[P](want), p)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestPayloadsArrive(t *testing.T) {
	t.Parallel()
	arrives(t, payloadgen.NamesTask, payload.Names{"a", "<b>"})
	arrives(t, payloadgen.TextTask, payload.Text("x"))
	arrives(t, payloadgen.CountTask, payload.Count(-7))
	arrives(t, payloadgen.RawTask, payload.Raw(`{"a":[1,{}]}`))
	arrives(t, payloadgen.LabelsTask, payload.Labels{"k": "v"})
	arrives(t, payloadgen.BytesTask, payload.Bytes{1, 2})
	arrives(t, payloadgen.PairTask, payload.Pair{1.5, -0.25})
	arrives(t, genericgen.OwnTask, generic.Own{Next: "n"})
}

func arrives[P, R any](t *testing.T, task *bullmq.Task[P, R], want P) {
	t.Helper()
	var got P
	_, err := bullmqtest.Work(t, task, func(_ context.Context, job *bullmq.Job[P]) (r R, _ error) {
		got = job.Data
		return r, nil
	}, want)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestNamesOfJobs(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	ctx, c := deadline(t), env.Client
	for want, add := range map[string]func() (string, string, error){
		"type":               func() (string, string, error) { return added(namesgen.EnqueueA(ctx, c, names.A{})) },
		"send-email":         func() (string, string, error) { return added(namesgen.EnqueueC(ctx, c, names.C{})) },
		"émail":              func() (string, string, error) { return added(namesgen.EnqueueF(ctx, c, names.F{})) },
		"a.b/c":              func() (string, string, error) { return added(namesgen.EnqueueG(ctx, c, names.G{})) },
		"it's (with) spaces": func() (string, string, error) { return added(namesgen.EnqueueH(ctx, c, names.H{})) },
	} {
		queue, id, err := add()
		require.NoError(t, err)
		r, err := c.Queue(queue).Job(ctx, id)
		require.NoError(t, err)
		require.Equal(t, want, r.Name)
	}
}

// Jobs of a task's earlier names run with its handler.
func TestAliases(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	ctx := deadline(t)
	work(t, env, everygen.EmailsQueue, func(w *bullmq.Worker) {
		everygen.HandleSendWelcome(w, func(ctx context.Context, job *bullmq.Job[every.SendWelcome]) (every.WelcomeResult, error) {
			return every.WelcomeResult{MessageID: job.Name + " " + job.Data.UserID}, nil
		})
	})
	data := map[string]any{"id": "", "userId": "ann", "rank": 0, "at": "0001-01-01T00:00:00Z"}
	for _, name := range []string{"send-greeting", "greet", "send-welcome"} {
		h, err := env.Client.Queue("emails").Add(ctx, name, data)
		require.NoError(t, err)
		got, err := h.Result(ctx)
		require.NoError(t, err)
		require.JSONEq(t, `{"messageId":"`+name+` ann"}`, string(got))
	}
	h, err := env.Client.Queue("emails").Add(ctx, "unknown", data)
	require.NoError(t, err)
	_, err = h.Result(ctx)
	require.ErrorContains(t, err, "unknown")
}

// A payload of another program that lacks a member never reaches a handler.
func TestRequiredMembers(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	ctx := deadline(t)
	var ran atomic.Int32
	work(t, env, requiredgen.QQueue, func(w *bullmq.Worker) {
		requiredgen.HandleDo(w, func(context.Context, *bullmq.Job[required.Do]) error {
			ran.Add(1)
			return nil
		})
	})
	text, err := json.Marshal(required.Do{})
	require.NoError(t, err)
	for _, member := range []string{"tenant", "named", "Low", "ID", "shadow", "array", "-", "Plain", "it:s"} {
		var data map[string]any
		require.NoError(t, json.Unmarshal(text, &data))
		require.Contains(t, data, member)
		delete(data, member)
		h, err := env.Client.Queue("q").Add(ctx, "do", data, bullmq.Attempts(3))
		require.NoError(t, err)
		_, err = h.Result(ctx)
		require.ErrorContains(t, err, member)
		require.Equal(t, 1, reaches(t, env, "q", h.ID, bullmq.StateFailed).AttemptsMade)
	}
	require.Zero(t, ran.Load())
	var data map[string]any
	require.NoError(t, json.Unmarshal(text, &data))
	for _, member := range []string{"opt", "zero", "ptr", "slice", "map", "Maybe"} {
		delete(data, member)
	}
	h, err := env.Client.Queue("q").Add(ctx, "do", data)
	require.NoError(t, err)
	_, err = h.Result(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, ran.Load())
}

func TestTimeoutAndTTL(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	ctx := deadline(t)
	fresh, err := everygen.EnqueueSendWelcome(ctx, env.Client, every.SendWelcome{ID: "fresh", UserID: "a"}, bullmq.TTL(100*time.Hour))
	require.NoError(t, err)
	old, err := everygen.EnqueueSendWelcome(ctx, env.Client, every.SendWelcome{ID: "old", UserID: "b"})
	require.NoError(t, err)
	env.Advance(t, 2*time.Hour)
	work(t, env, everygen.EmailsQueue, func(w *bullmq.Worker) {
		everygen.HandleSendWelcome(w, func(ctx context.Context, job *bullmq.Job[every.SendWelcome]) (r every.WelcomeResult, _ error) {
			if _, ends := ctx.Deadline(); !ends {
				return r, bullmq.Unrecoverable(errors.New("the handler has no deadline"))
			}
			r.MessageID = job.ID
			return r, nil
		})
	})
	_, err = old.Result(ctx)
	require.ErrorContains(t, err, bullmq.ErrExpired.Error())
	require.Eventually(t, func() bool { // completed jobs of the task are not kept
		_, err := env.Client.Queue("emails").Job(ctx, fresh.ID)
		return errors.Is(err, bullmq.ErrJobNotFound)
	}, patience, 2*time.Millisecond)
	stuck, err := everygen.EnqueueSendWelcome(ctx, env.Client, every.SendWelcome{ID: "kept", UserID: "c"}, bullmq.KeepCompleted(bullmq.KeepAll()))
	require.NoError(t, err)
	got, err := stuck.Result(ctx)
	require.NoError(t, err)
	require.Equal(t, "send-welcome/kept", got.MessageID)
}

func TestFinishedJobsThatAreKept(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	ctx := deadline(t)
	var n atomic.Int32
	work(t, env, keepgen.BQueue, func(w *bullmq.Worker) {
		keepgen.HandleDoB(w, func(context.Context, *bullmq.Job[keep.DoB]) error {
			if n.Add(1) > 3 {
				return errors.New("no")
			}
			return nil
		})
	})
	jobs, err := keepgen.EnqueueManyDoB(ctx, env.Client, make([]keep.DoB, 20))
	require.NoError(t, err)
	require.Len(t, jobs, 20)
	require.Eventually(t, func() bool {
		counts, err := env.Client.Queue("b").Counts(ctx)
		return err == nil && counts[bullmq.StateCompleted] == 0 && counts[bullmq.StateFailed] == 10 && n.Load() == 20
	}, patience, 2*time.Millisecond, "the task keeps no completed jobs and ten failed ones")
}

func TestRetries(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	ctx := deadline(t)
	var asked atomic.Int32
	again := func(attempt, last int) error {
		if attempt < last {
			return errors.New("again")
		}
		return nil
	}
	work(t, env, retrygen.QQueue, func(w *bullmq.Worker) {
		retrygen.HandleA(w, func(_ context.Context, job *bullmq.Job[retry.A]) error { return again(job.Attempt, 3) })
		retrygen.HandleD(w, func(_ context.Context, job *bullmq.Job[retry.D]) error { return again(job.Attempt, 4) })
	}, bullmq.AllowPartial(), bullmq.WithBackoffStrategy("moon-phase", func(int, *bullmq.ActiveJob, error) time.Duration {
		asked.Add(1)
		return 0
	}))
	a, err := retrygen.EnqueueA(ctx, env.Client, retry.A{})
	require.NoError(t, err)
	_, err = a.Result(ctx)
	require.NoError(t, err)
	d, err := retrygen.EnqueueD(ctx, env.Client, retry.D{})
	require.NoError(t, err)
	_, err = d.Result(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 3, asked.Load(), "the strategy is asked after each failure")
	require.Equal(t, 4, reaches(t, env, "q", d.ID, bullmq.StateCompleted).AttemptsMade)
}

func TestLimitOfEachGroup(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	ctx := deadline(t)
	work(t, env, groupgen.MailQueue, func(w *bullmq.Worker) {
		groupgen.HandleSend(w, func(context.Context, *bullmq.Job[group.Send]) error { return nil })
		groupgen.HandleDigest(w, func(context.Context, *bullmq.Job[group.Digest]) error { return nil })
		groupgen.HandleSweep(w, func(context.Context, *bullmq.Job[group.Sweep]) error { return nil })
	}, bullmq.Concurrency(4))
	digests := func(tenant string, n int) []group.Digest {
		all := make([]group.Digest, n)
		for i := range all {
			all[i].Tenant = tenant
		}
		return all
	}
	_, err := groupgen.EnqueueManyDigest(ctx, env.Client, digests("big", 103))
	require.NoError(t, err)
	_, err = groupgen.EnqueueManyDigest(ctx, env.Client, digests("small", 2))
	require.NoError(t, err)
	_, err = groupgen.EnqueueManyDigest(ctx, env.Client, digests("", 110))
	require.NoError(t, err)
	_, err = groupgen.EnqueueManySweep(ctx, env.Client, make([]group.Sweep, 2))
	require.NoError(t, err)
	over, err := groupgen.EnqueueSend(ctx, env.Client, group.Send{Owned: group.Owned{Tenant: "big"}, To: "x"})
	require.NoError(t, err)
	counts := func(completed, delayed int) func() bool {
		return func() bool {
			c, err := env.Client.Queue("mail").Counts(ctx)
			return err == nil && c[bullmq.StateCompleted] == completed && c[bullmq.StateDelayed] == delayed
		}
	}
	require.Eventually(t, counts(100+2+110+2, 4), patience, 2*time.Millisecond, "all tasks of a group share its limit")
	reaches(t, env, "mail", over.ID, bullmq.StateDelayed)
	env.Advance(t, time.Minute+time.Second, "mail")
	require.Eventually(t, counts(103+2+110+2+1, 0), patience, 2*time.Millisecond)
}
