package behaviour

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	coded "example.com/CodecsOfEveryForm/gen"
	codedtasks "example.com/CodecsOfEveryForm/tasks"
	upgraded "example.com/UpgradesOfEveryForm/gen"
	upgradedtasks "example.com/UpgradesOfEveryForm/tasks"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/bullmqtest"
)

// Jobs of earlier names are run with what generated code makes of them.
func TestUpgrades(t *testing.T) {
	t.Parallel()
	greet := func(_ context.Context, job *bullmq.Job[upgradedtasks.SendWelcome]) (upgradedtasks.Receipt, error) {
		return upgradedtasks.Receipt{ID: job.Name + " " + job.Data.UserID + " " + strings.Join(job.Data.Tags, "+")}, nil
	}
	for name, c := range map[string]struct{ data, want, fails string }{
		"send-welcome-3":    {`{"userId":"a","tags":["x"]}`, "send-welcome-3 a x", ""},
		"send-welcome-next": {`{"userId":"a"}`, "send-welcome-next a ", ""},
		"send-welcome-2":    {`{"userId":"a","tags":"x,y"}`, "send-welcome-2 a x+y", ""},
		"send-welcome":      {`{"user":"a"}`, "send-welcome a ", ""},
		"send greeting":     {`{"userId":"a"}`, "", `the payload lacks "user"`},
		"raw":               {`{"tags":1}`, "", `upgraded from "raw" to task "send-welcome-3"`},
	} {
		got, err := bullmqtest.WorkStored(t, upgraded.SendWelcomeTask, greet, name, json.RawMessage(c.data))
		if c.fails != "" {
			require.ErrorContains(t, err, c.fails)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got.ID)
	}
	for data, fails := range map[string]string{`{"userId":""}`: "no user", `{"userId":"a","tags":"x;y"}`: "tags of the first kind"} {
		_, err := bullmqtest.WorkStored(t, upgraded.SendWelcomeTask, greet, "send-welcome-2", json.RawMessage(data))
		require.ErrorContains(t, err, fails)
	}
	var got []int
	count := func(_ context.Context, job *bullmq.Job[upgradedtasks.Count]) (bullmq.None, error) {
		got = append(got, job.Data...)
		return bullmq.None{}, nil
	}
	_, err := bullmqtest.WorkStored(t, upgraded.CountTask, count, "count", json.RawMessage(`{"N":7}`))
	require.NoError(t, err)
	_, err = bullmqtest.WorkStored(t, upgraded.CountTask, count, "count-one", 8)
	require.NoError(t, err)
	require.Equal(t, []int{7, 8}, got)
}

// Payloads and results are stored in envelopes, and a parent reads those of its
// children. The keys are there only when the program runs.
func TestCodecs(t *testing.T) {
	t.Parallel()
	codedtasks.Keys = []bullmq.EncryptionKey{{ID: "k", Secret: []byte("0123456789abcdef")}}
	codedtasks.Late = bullmq.Gzip(0)
	env, ctx := bullmqtest.Start(t), deadline(t)
	got := make(chan coded.AllResults, 1)
	work(t, env, coded.QQueue, func(w *bullmq.Worker) { coded.HandleQ(w, codedHandler{got}) }, bullmq.Concurrency(4))
	text := strings.Repeat("long ", 100)
	h, err := coded.EnqueueAll(ctx, env.Client, codedtasks.All{}, coded.AllFlow{
		Card:    coded.FlowCard(codedtasks.Card{Number: "4711"}),
		Reports: []coded.ReportNode{coded.FlowReport(codedtasks.Report{Text: "short"}), coded.FlowReport(codedtasks.Report{Text: text})},
	})
	require.NoError(t, err)
	_, err = h.Result(ctx)
	require.NoError(t, err)
	results := <-got
	require.Equal(t, "card 4711", results.Card.Value)
	require.Equal(t, []codedtasks.Report{{Text: "SHORT"}, {Text: strings.ToUpper(text)}}, results.Reports)

	for _, add := range []func() (string, error){
		func() (string, error) {
			h, err := coded.EnqueueLateTask(ctx, env.Client, make(codedtasks.LateTask, 500))
			return h.ID, err
		},
		func() (string, error) {
			h, err := coded.EnqueueTurnedTask(ctx, env.Client, codedtasks.TurnedTask{})
			return h.ID, err
		},
	} {
		id, err := add()
		require.NoError(t, err)
		record := reaches(t, env, "q", id, bullmq.StateCompleted)
		require.Contains(t, string(record.Data), `{"$`)
	}
	card, err := env.Client.Queue("q").Add(ctx, "card", json.RawMessage(`{"N":"42"}`)) // plain, and of an earlier name
	require.NoError(t, err)
	number, err := coded.CardTask.JobHandle(env.Client, card.ID).Result(ctx)
	require.NoError(t, err)
	require.Equal(t, "card 42", number)
	stored, err := env.Client.Queue("q").Finished(ctx, card.ID)
	require.NoError(t, err)
	require.Contains(t, string(stored.Value), `{"$aesgcm":`)
}

type codedHandler struct{ got chan coded.AllResults }

func (h codedHandler) All(_ context.Context, _ *bullmq.Job[codedtasks.All], in coded.AllResults) error {
	h.got <- in
	return nil
}

func (codedHandler) Card(_ context.Context, job *bullmq.Job[codedtasks.Card]) (string, error) {
	return "card " + job.Data.Number, nil
}

func (codedHandler) Report(_ context.Context, job *bullmq.Job[codedtasks.Report]) (codedtasks.Report, error) {
	return codedtasks.Report{Text: strings.ToUpper(job.Data.Text)}, nil
}

func (codedHandler) LateTask(context.Context, *bullmq.Job[codedtasks.LateTask]) error     { return nil }
func (codedHandler) TurnedTask(context.Context, *bullmq.Job[codedtasks.TurnedTask]) error { return nil }
