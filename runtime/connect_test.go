package bullmq

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
)

func TestAClientThatConnectMadeClosesItsStorage(t *testing.T) {
	t.Parallel()
	s := testredis.Any(t)
	c, err := Connect(redisq.Open(s.URL()))
	require.NoError(t, err)
	require.NoError(t, c.Ping(context.Background()))
	require.NoError(t, c.Close())
	require.ErrorIs(t, c.Ping(context.Background()), ErrClosed)
	_, err = Connect(redisq.Open("redis://%"))
	require.Error(t, err, "that of the function that opens the storage")
	_, err = Connect(nil, nil)
	require.ErrorIs(t, err, ErrInvalid)
	own := errors.New("own")
	_, err = Connect(nil, own)
	require.Equal(t, own, err)
}

// greetHandler is the interface that generated code has for a queue of one task.
type greetHandler interface {
	Greet(context.Context, *Job[greet]) (greeting, error)
}

type greeter struct{}

func (greeter) Greet(ctx context.Context, job *Job[greet]) (greeting, error) { return hello(ctx, job) }

func TestAHandlingWorkerNeedsAHandler(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	register := func(w *Worker, h greetHandler) { k.task.Handle(w, h.Greet) }
	w, err := NewHandlingWorker(k.client, k.queue, register, greetHandler(greeter{}))
	require.NoError(t, err)
	require.NoError(t, w.Start(context.Background()))
	require.Equal(t, "hello ann", k.result(k.add("ann")).Text)
	require.NoError(t, w.Stop(k.ctx))
	_, err = NewHandlingWorker(k.client, k.queue, register, nil)
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "the handler is nil")
	_, err = NewHandlingWorker(k.client, k.queue, register, greetHandler(greeter{}), Concurrency(0))
	require.ErrorContains(t, err, "concurrency")
}
