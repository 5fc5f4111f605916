package audit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

type load struct {
	Fail bool `json:"fail"`
}

// busy is a queue on which jobs of all kinds come and go.
type busy struct {
	*testing.T
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	client *bullmq.Client
	task   *bullmq.Task[load, bullmq.None]
	queue  *bullmq.QueueSpec
	n      int
}

func newBusy(t *testing.T, client *bullmq.Client) *busy {
	b := &busy{T: t, client: client, queue: &bullmq.QueueSpec{Name: "busy"}}
	b.ctx, b.cancel = context.WithCancel(t.Context())
	b.task = bullmq.NewTask[load, bullmq.None](bullmq.Spec{Queue: b.queue, Name: "job"}, nil)
	require.NoError(t, b.task.Err())
	b.queue.Tasks = []string{"job"}
	worker, err := bullmq.NewWorker(client, b.queue, bullmq.Concurrency(20), bullmq.WorkerLogger(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	b.task.Handle(worker, func(_ context.Context, job *bullmq.Job[load]) (bullmq.None, error) {
		if job.Data.Fail {
			return bullmq.None{}, errors.New("on purpose")
		}
		return bullmq.None{}, nil
	})
	b.wg.Go(func() {
		if err := worker.Run(b.ctx); err != nil && b.ctx.Err() == nil {
			t.Error(err)
		}
	})
	b.wg.Go(func() { b.repeat(b.add) })
	b.wg.Go(func() { b.repeat(b.operate) })
	return b
}

func (b *busy) stop() {
	b.cancel()
	b.wg.Wait()
}

func (b *busy) repeat(do func() error) {
	for b.ctx.Err() == nil {
		if err := do(); err != nil && b.ctx.Err() == nil {
			b.Error(err)
			return
		}
	}
}

// add adds a job of a random kind, or a flow.
func (b *busy) add() error {
	b.n++
	payload := load{Fail: b.n%7 == 0}
	var opts []bullmq.AddOption
	switch b.n % 6 {
	case 0:
		opts = append(opts, bullmq.Priority(1+b.n%3))
	case 1:
		opts = append(opts, bullmq.Delay(time.Duration(rand.N(30))*time.Millisecond))
	case 2:
		opts = append(opts, bullmq.Deduplicate(bullmq.Dedup{ID: fmt.Sprint("k", b.n%5), KeepLastIfActive: b.n%4 == 0}))
	case 3:
		opts = append(opts, bullmq.Attempts(3), bullmq.KeepCompleted(bullmq.KeepLast(10)), bullmq.KeepFailed(bullmq.KeepLast(10)))
	case 4:
		root := b.task.Node(payload)
		root.Children = []*bullmq.Node{b.task.Node(load{}), b.task.Node(load{Fail: b.n%12 == 4})}
		_, err := b.client.AddFlows(b.ctx, root)
		return err
	}
	_, err := b.task.Add(b.ctx, b.client, payload, opts...)
	return err
}

// operate does what an operator may do at any time.
func (b *busy) operate() error {
	q := b.client.Queue("busy")
	switch rand.N(6) {
	case 0:
		return errors.Join(q.Pause(b.ctx), q.Resume(b.ctx))
	case 1:
		return q.RetryAll(b.ctx, bullmq.StateFailed)
	case 2:
		_, err := q.Clean(b.ctx, bullmq.StateCompleted, 0, 100)
		return err
	case 3:
		return q.PromoteAll(b.ctx)
	case 4:
		return q.Drain(b.ctx)
	default:
		_, err := q.RemoveOrphans(b.ctx, 10)
		return err
	}
}
