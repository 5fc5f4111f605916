package bullmq

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// A program that ends says nothing, and go-redis neither, in whatever order it
// closes what it opened; only a worker that outlives its storage says so, once.
// The worker is stopped as it begins to wait for more jobs, when its connection
// for that may be half made. Go-redis writes for the whole process, so this test
// is not parallel.
func TestClosingIsSilent(t *testing.T) {
	const rounds = 3 // of each order
	driver, ours := &recorder{}, &recorder{}
	redisq.LogDriver(slog.New(slog.NewTextHandler(noting(driver), &slog.HandlerOptions{Level: slog.LevelDebug})))
	t.Cleanup(func() { redisq.LogDriver(quiet()) })
	for _, order := range []string{
		"worker client store", "worker store client", "client worker store",
		"client store worker", "store worker client", "store client worker",
	} {
		for range rounds {
			before := len(ours.all())
			closeInOrder(t, strings.Fields(order), slog.New(slog.NewTextHandler(noting(ours), nil)))
			require.Empty(t, driver.all(), order)
			told := ours.all()[before:]
			if strings.Index(order, "worker") < strings.Index(order, "store") {
				require.Empty(t, told, order)
				continue
			}
			require.LessOrEqual(t, len(told), 1, told)
			for _, line := range told {
				require.Contains(t, line, storage.ErrClosed.Error())
			}
		}
	}
}

func noting(r *recorder) writer { return func(p []byte) { r.note(string(p)) } }

// closeInOrder lets a program do a job, read events and wait for a result, and ends it.
func closeInOrder(t *testing.T, order []string, log *slog.Logger) {
	k := newKit(t, testredis.Mini(t))
	store, err := redisq.Open(k.server.URL(), redisq.Logger(log))
	require.NoError(t, err)
	k.client, err = NewClient(store, WithLogger(log))
	require.NoError(t, err)
	worker := k.worker(hello)
	later, waiting := k.add("later", Delay(patience)), make(chan error, 1)
	go func() {
		_, err := later.Result(k.ctx)
		waiting <- err
	}()
	readCtx, stopReading := context.WithCancel(k.ctx)
	defer stopReading()
	reading := make(chan error, 1)
	go func() {
		for _, err := range k.client.Queue(k.queue.Name).Events(readCtx) {
			if err != nil {
				reading <- err
				return
			}
		}
		reading <- nil
	}()
	k.result(k.add("a"))
	ends := map[string]func() error{
		"worker": func() error { return worker.Stop(k.ctx) },
		"client": k.client.Close,
		"store":  store.Close,
	}
	for _, what := range order {
		require.NoError(t, ends[what](), what)
	}
	err = from(k, waiting)
	if !errors.Is(err, ErrClosed) {
		require.ErrorIs(t, err, storage.ErrClosed)
	}
	require.ErrorIs(t, from(k, reading), storage.ErrClosed)
}
