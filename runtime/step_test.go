package bullmq

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

var orderTask = NewTask[string, string](Spec{Queue: &QueueSpec{Name: "orders"}, Name: "order"}, nil)

// order is a handler of three steps, which counts how often each is done and
// fails as told.
type order struct {
	charge, ship, mail atomic.Int32
	fail               func(step string, times int32) error
}

type receipt struct{ No int }

func (o *order) handle(ctx context.Context, job *Job[string]) (string, error) {
	r, err := Step(ctx, job, "charge", func(context.Context) (receipt, error) {
		n := o.charge.Add(1)
		return receipt{int(n)}, o.fail("charge", n)
	})
	if err != nil {
		return "", err
	}
	if err := Do(ctx, job, "ship", func(context.Context) error { return o.fail("ship", o.ship.Add(1)) }); err != nil {
		return "", err
	}
	mail, err := Step(ctx, job, "mail", func(context.Context) (string, error) {
		n := o.mail.Add(1)
		return fmt.Sprint("mail ", n), o.fail("mail", n)
	})
	return fmt.Sprintf("%s: receipt %d, %s", job.Data, r.No, mail), err
}

func (o *order) counts() []int32 { return []int32{o.charge.Load(), o.ship.Load(), o.mail.Load()} }

func (k *kit) workOrders(o *order, opts ...WorkerOption) *Worker {
	return k.start(orderTask.Spec().Queue, func(w *Worker) { orderTask.Handle(w, o.handle) }, opts...)
}

// A retried job goes on at the step that failed.
func TestStepsOfRetriedJob(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	o := &order{fail: func(step string, n int32) error {
		if step == "ship" && n < 3 || step == "mail" && n < 2 {
			return errors.New(step + " is down")
		}
		return nil
	}}
	k.workOrders(o)
	h, err := orderTask.Add(k.ctx, k.client, "ann", Attempts(4))
	require.NoError(t, err)
	require.Equal(t, "ann: receipt 1, mail 2", value(k, h))
	require.Equal(t, []int32{1, 3, 2}, o.counts())
	r, err := k.client.Queue("orders").Job(k.ctx, h.ID)
	require.NoError(t, err)
	require.Empty(t, r.Steps, "they are not kept longer than they are needed")
	require.Empty(t, r.Extra)
}

// A job that failed for good and is retried by hand goes on too; one that
// completed and is retried begins anew.
func TestStepsOfJobRetriedByHand(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	var broken atomic.Bool
	broken.Store(true)
	o := &order{fail: func(step string, _ int32) error {
		if step == "mail" && broken.Load() {
			return Unrecoverable(errors.New("no address"))
		}
		return nil
	}}
	k.workOrders(o)
	h, err := orderTask.Add(k.ctx, k.client, "ann")
	require.NoError(t, err)
	_, err = h.Result(k.ctx)
	require.ErrorIs(t, err, ErrJobFailed)
	r, err := k.client.Queue("orders").Job(k.ctx, h.ID)
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"charge": []byte(`{"No":1}`), "ship": []byte("null")}, r.Steps)
	broken.Store(false)
	q := k.client.Queue("orders")
	require.NoError(t, q.RetryWith(k.ctx, h.ID, RetryRequest{State: StateFailed, ResetMade: true}))
	require.Equal(t, "ann: receipt 1, mail 2", value(k, h))
	require.Equal(t, []int32{1, 1, 2}, o.counts())

	done := k.waitFor("orders", h.ID)
	require.NoError(t, q.RetryWith(k.ctx, h.ID, RetryRequest{State: StateCompleted}))
	require.Equal(t, `"ann: receipt 2, mail 3"`, done())
	require.Equal(t, []int32{2, 2, 3}, o.counts())
}

// A worker that vanishes leaves the steps that it did to the next one, and
// cannot add to them afterwards.
func TestStepsOfStalledJob(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	m, err := NewManual(k.client, "orders", LockDuration(time.Hour))
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Close() })
	h, err := orderTask.Add(k.ctx, k.client, "ann")
	require.NoError(t, err)
	lost, err := m.Take(k.ctx)
	require.NoError(t, err)
	r, err := Step(k.ctx, lost, "charge", func(context.Context) (receipt, error) { return receipt{7}, nil })
	require.NoError(t, err)
	require.Equal(t, receipt{7}, r)

	require.NoError(t, k.server.Client(t).Del(k.ctx, "bull:orders:"+h.ID+":lock").Err(), "its time is over")
	o := &order{fail: func(string, int32) error { return nil }}
	k.workOrders(o, StalledCheck(100*time.Millisecond, 3))
	require.Equal(t, "ann: receipt 7, mail 1", value(k, h))
	require.Equal(t, []int32{0, 1, 1}, o.counts())
	_, err = Step(k.ctx, lost, "charge", func(context.Context) (receipt, error) { panic("it has a result") })
	require.NoError(t, err)
	_, err = Step(k.ctx, lost, "other", func(context.Context) (int, error) { return 1, nil })
	require.ErrorIs(t, err, ErrLockLost)
}

func TestStepProblems(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	m, err := NewManual(k.client, "orders")
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Close() })
	_, err = orderTask.Add(k.ctx, k.client, "ann")
	require.NoError(t, err)
	job, err := m.Take(k.ctx)
	require.NoError(t, err)
	never := func(context.Context) (int, error) { panic("not to be run") }
	one := func(context.Context) (int, error) { return 1, nil }

	_, err = Step(k.ctx, job, "", never)
	require.ErrorContains(t, err, "a step needs a name")
	require.True(t, IsUnrecoverable(err))

	n, err := Step(k.ctx, job, "n", one)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = Step(k.ctx, job, "n", never)
	require.NoError(t, err, "the same name in the same run")
	require.Equal(t, 1, n)
	_, err = Step(k.ctx, job, "n", func(context.Context) ([]string, error) { panic("not to be run") })
	require.ErrorContains(t, err, `result of step "n", kept by an earlier run: at $: a JSON number does not fit []string`)
	require.True(t, IsUnrecoverable(err))

	_, err = Step(k.ctx, job, "f", func(context.Context) (func(), error) { return func() {}, nil })
	require.ErrorContains(t, err, `result of step "f": at $: func() has no form in JSON`)
	require.True(t, IsUnrecoverable(err))

	ended, cancel := context.WithCancelCause(k.ctx)
	cancel(ErrShutdown)
	_, err = Step(ended, job, "late", never)
	require.ErrorIs(t, err, ErrShutdown)
	ending, stop := context.WithCancel(k.ctx)
	_, err = Step(ending, job, "last", func(context.Context) (int, error) { stop(); return 5, nil })
	require.NoError(t, err, "what is done is kept")
	_, err = Step(k.ctx, job, "last", never)
	require.NoError(t, err)

	require.NoError(t, m.Finish(k.ctx, job, nil, nil))
	_, err = Step(k.ctx, job, "n", never)
	require.ErrorIs(t, err, ErrLockLost)
}

// An answer that is lost on its way is asked for again: keeping a result twice
// does no harm, and doing the step twice might.
func TestStepWithLostAnswer(t *testing.T) {
	t.Parallel()
	srv := testredis.Shared(t)
	link := testredis.Proxy(t, srv.Addr())
	k := newKitAt(t, srv, fmt.Sprintf("redis://%s/%d", link.Addr(), srv.DB()))
	m, err := NewManual(k.client, "orders")
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Close() })
	_, err = orderTask.Add(k.ctx, k.client, "ann")
	require.NoError(t, err)
	job, err := m.Take(k.ctx)
	require.NoError(t, err)
	require.NoError(t, Do(k.ctx, job, "first", func(context.Context) error { return nil }))
	before := link.Dropped()
	link.DropReply("evalsha")
	require.NoError(t, Do(k.ctx, job, "second", func(context.Context) error { return nil }))
	require.Equal(t, before+1, link.Dropped())
	r, err := k.client.Queue("orders").Job(k.ctx, job.ID)
	require.NoError(t, err)
	require.Len(t, r.Steps, 2)
}
