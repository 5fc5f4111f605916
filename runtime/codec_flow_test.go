package bullmq_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/bullmqtest"
)

var booksQueue = &bullmq.QueueSpec{Name: "books"}

// sealedNotes are children with a codec, which bookTask knows and one of which
// has an earlier name.
var sealedNotes = notes(bullmq.AESGCM(key("k")), func(s *bullmq.Spec) {
	s.Upgrades = []bullmq.Upgrade{bullmq.UpgradeFrom("text", bullmq.NoError(func(text string) note { return note{Text: text} }))}
})

var bookTask = bullmq.NewTask[string, []string](bullmq.Spec{
	Queue: booksQueue, Name: "book",
	Slots: []bullmq.SlotSpec{
		{Name: "pages", Kind: bullmq.SlotMany, Queue: "notes", Job: "note", Aliases: []string{"text"}, Codec: sealedNotes.Spec().Codec, OnFail: bullmq.OnFailIgnore},
		{Name: "plain", Kind: bullmq.SlotOptional, Queue: "plain", Job: "plain"},
	},
}, nil)

func bind(ctx context.Context, job *bullmq.Job[string]) ([]string, error) {
	pages, err := bullmq.ChildResults[bullmq.Outcome[note]](ctx, job, "pages")
	var texts []string
	for _, p := range pages {
		if p.Err != nil {
			texts = append(texts, p.Err.Error())
			continue
		}
		texts = append(texts, p.Value.Text)
	}
	return texts, err
}

// A parent reads the results of children whose tasks have a codec, those of an
// earlier name included.
func TestChildrenWithACodec(t *testing.T) {
	t.Parallel()
	env, ctx := bullmqtest.Start(t), soon(t)
	h, err := bookTask.AddFlow(ctx, env.Client, "all", []bullmq.Slot{
		bullmq.ManyChildren("pages", []*bullmq.Node{sealedNotes.Node(note{Text: "one"}), sealedNotes.Node(note{Text: "fail"})}),
	})
	require.NoError(t, err)
	// as a program adds them that knows no slots, and the task by its earlier name
	foreign := bullmq.NewNode("books", "book", "foreign")
	foreign.Children = []*bullmq.Node{bullmq.NewNode("notes", "text", "old")}
	trees, err := env.Client.AddFlows(ctx, foreign)
	require.NoError(t, err)
	run(t, env, notesQueue, func(w *bullmq.Worker) {
		sealedNotes.Handle(w, func(ctx context.Context, job *bullmq.Job[note]) (note, error) {
			if job.Data.Text == "fail" {
				return note{}, errors.New("failed")
			}
			return capitals(ctx, job)
		})
	})
	run(t, env, booksQueue, func(w *bullmq.Worker) { bookTask.Handle(w, bind) })
	got, err := h.Result(ctx)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, "ONE", got[0])
	require.Contains(t, got[1], "failed")
	text, err := trees[0].Result(ctx)
	require.NoError(t, err)
	require.JSONEq(t, `["OLD"]`, string(text))
	children, err := env.Client.Queue("books").Children(ctx, h.ID)
	require.NoError(t, err)
	require.Contains(t, object(t, children[0].Value), "$aesgcm") // as it is stored
}

// Handles of flows decode too, although they know no type.
func TestHandlesOfFlowsWithACodec(t *testing.T) {
	t.Parallel()
	env, ctx := bullmqtest.Start(t), soon(t)
	trees, err := env.Client.AddFlows(ctx, sealedNotes.Node(note{Text: "a"}))
	require.NoError(t, err)
	run(t, env, notesQueue, func(w *bullmq.Worker) { sealedNotes.Handle(w, capitals) })
	text, err := trees[0].Result(ctx)
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"A","owner":""}`, string(text))
}

// Tasks of a chain hand their results on under one codec.
func TestChainsWithACodec(t *testing.T) {
	t.Parallel()
	env, ctx := bullmqtest.Start(t), soon(t)
	sealed := func(name string) bullmq.Spec {
		return bullmq.Spec{Queue: booksQueue, Name: name, Codec: use(bullmq.AESGCM(key("k")))}
	}
	second := bullmq.NewChainTask[note, string, string](sealed("second"), nil)
	third := bullmq.NewJoinTask[string, string, string](sealed("third"), nil)
	first := bullmq.Each(sealedNotes, []note{{Text: "a"}, {Text: "b"}})
	h, err := bullmq.ThenAll([]bullmq.Chain[string]{
		bullmq.Then(first[0], second, "1"), bullmq.Then(first[1], second, "2"),
	}, third, "3").Add(ctx, env.Client)
	require.NoError(t, err)
	run(t, env, notesQueue, func(w *bullmq.Worker) { sealedNotes.Handle(w, capitals) })
	run(t, env, booksQueue, func(w *bullmq.Worker) {
		second.Handle(w, func(_ context.Context, job *bullmq.Job[string], before note) (string, error) {
			return before.Text + job.Data, nil
		})
		third.Handle(w, func(_ context.Context, job *bullmq.Job[string], before []string) (string, error) {
			return before[0] + before[1] + job.Data, nil
		})
	})
	got, err := h.Result(ctx)
	require.NoError(t, err)
	require.Equal(t, "A1B23", got)
	stored, err := env.Client.Queue("books").Finished(ctx, h.ID)
	require.NoError(t, err)
	require.Contains(t, object(t, stored.Value), "$aesgcm")

	bare := bullmq.NewChainTask[note, string, string](bullmq.Spec{Queue: booksQueue, Name: "bare"}, nil)
	_, err = bullmq.Then(first[0], bare, "x").Add(ctx, env.Client)
	require.ErrorContains(t, err, "it gets the result of notes/note, whose task has a codec")
	join := bullmq.NewJoinTask[note, string, string](bullmq.Spec{Queue: booksQueue, Name: "join"}, nil)
	_, err = bullmq.ThenAll(first, join, "x").Add(ctx, env.Client)
	require.ErrorContains(t, err, "whose task has a codec")
}

// A key that the parent lacks makes it try again, another fault does not.
func TestChildrenThatCannotBeDecoded(t *testing.T) {
	t.Parallel()
	for i, codec := range []bullmq.Codec{bullmq.AESGCM(key("other")), fake{same, gives("", errors.New("broken"))}} {
		parent := bullmq.NewTask[string, string](bullmq.Spec{Queue: booksQueue, Name: "book", Attempts: 2, Slots: []bullmq.SlotSpec{
			{Name: "page", Queue: "notes", Job: "note", Codec: use(codec)},
		}}, nil)
		env, ctx := bullmqtest.Start(t), soon(t)
		h, err := parent.AddFlow(ctx, env.Client, "", []bullmq.Slot{bullmq.OneChild("page", sealedNotes.Node(note{Text: "a"}))})
		require.NoError(t, err)
		run(t, env, notesQueue, func(w *bullmq.Worker) { sealedNotes.Handle(w, capitals) })
		final := make(chan bool, 2)
		run(t, env, booksQueue, func(w *bullmq.Worker) {
			parent.Handle(w, func(ctx context.Context, job *bullmq.Job[string]) (string, error) {
				_, err := bullmq.ChildResult[note](ctx, job, "page")
				final <- bullmq.IsUnrecoverable(err)
				return "", err
			})
		})
		_, err = h.Result(ctx)
		require.ErrorContains(t, err, `slot "page": result of child`)
		require.Equal(t, i == 1, <-final)
	}
}
