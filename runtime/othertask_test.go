package bullmq

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// pack is the payload of another task of the queue of greetings.
type pack struct {
	Box string `json:"box"`
}

// other is a task that shares the ids and deduplication ids of greetings.
func (k *kit) other() *Task[pack, int] {
	return NewTask[pack, int](Spec{Queue: k.queue, Name: "pack"}, nil)
}

func TestNoHandleOfAJobOfAnotherTask(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]AddOption{"id": JobID("shared"), "deduplication id": Deduplicate(Dedup{ID: "shared"})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, testredis.Any(t))
			first, err := k.task.Add(k.ctx, k.client, greet{Name: "ann"}, opt)
			require.NoError(t, err)

			h, err := k.other().Add(k.ctx, k.client, pack{Box: "b"}, opt)
			require.Nil(t, h)
			require.ErrorIs(t, err, ErrOtherTask)
			require.ErrorContains(t, err, `nothing was added: job "`+first.ID+`" of queue "greetings" is of task "greet", not of "pack"`)

			again, err := k.task.Add(k.ctx, k.client, greet{Name: "ann"}, opt)
			require.NoError(t, err)
			require.True(t, again.Existing)
		})
	}
}

func TestManyJobsOfWhichOneHasTheIDOfAnotherTask(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	_, err := k.task.Add(k.ctx, k.client, greet{Name: "ann"}, JobID("a"))
	require.NoError(t, err)
	packs := NewTask[pack, int](Spec{Queue: k.queue, Name: "pack"}, func(p *pack) PayloadOptions { return PayloadOptions{JobID: p.Box} })
	handles, err := packs.AddMany(k.ctx, k.client, []pack{{"b"}, {"a"}, {"c"}})
	var bulk *BulkError
	require.ErrorAs(t, err, &bulk)
	require.Len(t, bulk.Errs, 1)
	require.ErrorIs(t, bulk.Errs[1], ErrOtherTask)
	require.NotNil(t, handles[0])
	require.Nil(t, handles[1])
	require.NotNil(t, handles[2])
}

func TestNoFlowBelowAJobOfAnotherTask(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	_, err := k.task.Add(k.ctx, k.client, greet{Name: "ann"}, JobID("root"))
	require.NoError(t, err)
	children := []Slot{ManyChildren("greetings", []*Node{k.task.Node(greet{Name: "bob"})})}
	_, err = k.other().AddFlow(k.ctx, k.client, pack{Box: "b"}, children, JobID("root"))
	require.ErrorIs(t, err, ErrOtherTask)
	_, err = Begin(k.other(), pack{Box: "b"}).Add(k.ctx, k.client, JobID("root"))
	require.ErrorIs(t, err, ErrOtherTask)
	counts, err := k.client.Queue("greetings").Counts(k.ctx, StateWaiting)
	require.NoError(t, err)
	require.Equal(t, 1, counts[StateWaiting])
}

// A child whose id is that of a job of another task is refused as an add is, and
// with it all that is added in the same step.
func TestNoChildIsAJobOfAnotherTask(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	_, err := k.task.Add(k.ctx, k.client, greet{Name: "ann"}, JobID("shared"))
	require.NoError(t, err)
	packs := NewTask[pack, int](Spec{Queue: k.queue, Name: "pack"}, func(p *pack) PayloadOptions { return PayloadOptions{JobID: p.Box} })
	child := func() []Slot {
		return []Slot{ManyChildren("packs", []*Node{packs.Node(pack{"a"}), packs.Node(pack{"shared"})})}
	}

	_, err = k.task.AddFlow(k.ctx, k.client, greet{Name: "root"}, child())
	require.ErrorIs(t, err, ErrOtherTask)
	require.ErrorContains(t, err, `greet.packs[1] (greetings/pack, id "shared"): the job belongs to another task, "greet"`)
	_, err = k.client.AddFlows(k.ctx, packs.Node(pack{"shared"}))
	require.ErrorIs(t, err, ErrOtherTask)
	_, err = Then(Begin(packs, pack{"shared"}), NewChainTask[int, greet, greeting](Spec{Queue: k.queue, Name: "greet"}, nil), greet{Name: "last"}).Add(k.ctx, k.client)
	require.ErrorIs(t, err, ErrOtherTask)
	require.NotErrorIs(t, err, ErrInvalid, "the call is right, and another state of the queue lets it pass")

	root, err := k.task.AddFlow(k.ctx, k.client, greet{Name: "root"}, []Slot{ManyChildren("packs", []*Node{packs.Node(pack{"a"})})})
	require.NoError(t, err)
	under := ChildOf(Parent{Queue: "greetings", ID: root.ID})
	_, err = packs.Add(k.ctx, k.client, pack{"shared"}, under)
	require.ErrorIs(t, err, ErrOtherTask)
	_, err = packs.Add(k.ctx, k.client, pack{"b"}, under)
	require.NoError(t, err)
	counts, err := k.client.Queue("greetings").DependencyCounts(k.ctx, root.ID)
	require.NoError(t, err)
	require.Equal(t, 2, counts.Pending)

	renamed := NewTask[greet, greeting](Spec{Queue: k.queue, Name: "welcome", Aliases: []string{"greet"}}, func(g *greet) PayloadOptions { return PayloadOptions{JobID: g.Name} })
	_, err = packs.AddFlow(k.ctx, k.client, pack{"root"}, []Slot{ManyChildren("greets", []*Node{renamed.Node(greet{Name: "shared"})})})
	require.NoError(t, err)
}

func TestAnEarlierNameIsNoOtherTask(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	_, err := k.task.Add(k.ctx, k.client, greet{Name: "ann"}, JobID("a"))
	require.NoError(t, err)
	renamed := NewTask[greet, greeting](Spec{Queue: k.queue, Name: "welcome", Aliases: []string{"greet"}}, nil)
	h, err := renamed.Add(k.ctx, k.client, greet{Name: "ann"}, JobID("a"))
	require.NoError(t, err)
	require.True(t, h.Existing)
}

func TestTheResultOfAJobOfAnotherTaskIsAnError(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	h, err := k.task.Add(k.ctx, k.client, greet{Name: "ann"})
	require.NoError(t, err)
	_, err = k.other().JobHandle(k.client, h.ID).Result(k.ctx)
	require.ErrorIs(t, err, ErrOtherTask)
	_, err = k.other().JobHandle(k.client, "nobody").Result(k.ctx)
	require.ErrorIs(t, err, ErrJobNotFound)

	k.worker(hello)
	got, err := k.task.JobHandle(k.client, h.ID).Result(k.ctx)
	require.NoError(t, err)
	require.Contains(t, got.Text, "ann")
}

// Tools add jobs by name, and their results have no type.
func TestAJobAddedByNameMayBeThereUnderAnother(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	_, err := k.task.Add(k.ctx, k.client, greet{Name: "ann"}, JobID("a"))
	require.NoError(t, err)
	h, err := k.client.Queue("greetings").Add(k.ctx, "pack", nil, JobID("a"))
	require.NoError(t, err)
	require.True(t, h.Existing)
}
