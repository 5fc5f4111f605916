package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// work is something whose cost is counted: steps calls, each about size jobs.
type work struct {
	name, about string
	size, steps int
	prepare     func(context.Context, *bench, work) (step, error)
}

type step func(context.Context) error

var works = []work{
	{"add-1", "one job added a call", 1, 1000, adding},
	{"add-125", "125 jobs a call, the most that one has", 125, 80, adding},
	{"settle-1", "one job settled and one taken a call", 1, 1000, settling},
	{"settle-25", "25 settled and 25 taken a call", 25, 200, settling},
	{"settle-50", "50 settled and 50 taken a call", 50, 100, settling},
	{"limit-1", "only the writes of settle-1, see limit_work.lua", 1, 1000, limit},
	{"limit-25", "only the writes of settle-25", 25, 200, limit},
	{"flow-add", "a flow of one parent and ten children a call, all 11 jobs", 11, 100, addingFlows},
	{"flow-work", "jobs of such flows, 25 settled and 25 taken a call", 25, 132, workingFlows},
}

const (
	queue = "bench"
	base  = redisq.DefaultPrefix + ":" + queue + ":"
	token = "a token as long as a usual one:1234567890"
	locks = 30 * time.Second
	// loaded is how many jobs an add has where nothing is counted.
	loaded = 100
	// full is how many events a stream keeps: before anything is counted, each
	// stream has reached its length.
	full = 10000
)

// bench is a client of the server.
type bench struct {
	client *redis.Client
	store  *redisq.Store
	held   []*storage.Record
	flows  int // how many were added
}

func newBench(addr string) (*bench, error) {
	client := redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: time.Minute, MaxRetries: -1, ContextTimeoutEnabled: true})
	store, err := redisq.New(client)
	if err != nil {
		return nil, err
	}
	return &bench{client: client, store: store}, nil
}

func (b *bench) close() {
	_ = b.store.Close()
	_ = b.client.Close()
}

func newJob() storage.NewJob {
	return storage.NewJob{Name: "job", Data: []byte(`{"id":123456,"text":"hello world"}`), Opts: []byte(`{"attempts":0}`), Timestamp: time.Now()}
}

// add adds n jobs in calls of a size.
func (b *bench) add(ctx context.Context, n, size int) error {
	jobs := make([]storage.NewJob, size)
	for i := range jobs {
		jobs[i] = newJob()
	}
	for ; n > 0; n -= size {
		added, err := b.store.Add(ctx, queue, jobs)
		if err != nil {
			return err
		}
		for _, a := range added {
			if a.Err != nil {
				return a.Err
			}
		}
	}
	return nil
}

// settle completes what is held and takes others.
func (b *bench) settle(ctx context.Context, take int) error {
	req := storage.SettleRequest{Now: time.Now(), Take: take, Token: token, Lock: locks}
	for _, r := range b.held {
		req.Settle = append(req.Settle, storage.Settlement{ID: r.ID, Token: token, Kind: storage.Completed, Value: []byte("null")})
	}
	reply, err := b.store.Settle(ctx, queue, &req)
	if err != nil {
		return err
	}
	for _, err := range reply.Errs {
		if err != nil {
			return err
		}
	}
	if len(reply.Jobs) != take {
		return fmt.Errorf("%d jobs were taken instead of %d", len(reply.Jobs), take)
	}
	b.held = reply.Jobs
	return nil
}

// addFlows adds flows of one parent and ten children.
func (b *bench) addFlows(ctx context.Context, n int) error {
	for ; n > 0; n-- {
		b.flows++
		parent := storage.FlowNode{Queue: b.store.Qualify(queue), NewJob: newJob()}
		parent.ID = fmt.Sprintf("01890a5d-ac96-774b-bcce-b302099a%04d", b.flows)
		nodes := []storage.FlowNode{parent}
		for i := range 10 {
			child := parent
			child.ID = fmt.Sprintf("parts.%d.%s", i, parent.ID)
			child.Parent = &storage.Parent{ID: parent.ID, Queue: parent.Queue}
			nodes = append(nodes, child)
		}
		if _, err := b.store.AddFlow(ctx, time.Now(), nodes); err != nil {
			return err
		}
	}
	return nil
}

func adding(ctx context.Context, b *bench, w work) (step, error) {
	return func(ctx context.Context) error { return b.add(ctx, w.size, w.size) }, b.add(ctx, full, loaded)
}

func settling(ctx context.Context, b *bench, w work) (step, error) {
	if err := b.add(ctx, full+w.size*(w.steps+2), loaded); err != nil {
		return nil, err
	}
	for range full / 2 / 50 { // two events each
		if err := b.settle(ctx, 50); err != nil {
			return nil, err
		}
	}
	for range 2 {
		if err := b.settle(ctx, w.size); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) error { return b.settle(ctx, w.size) }, nil
}

func addingFlows(ctx context.Context, b *bench, _ work) (step, error) {
	return func(ctx context.Context) error { return b.addFlows(ctx, 1) }, b.addFlows(ctx, full/22)
}

func workingFlows(ctx context.Context, b *bench, w work) (step, error) {
	if err := b.addFlows(ctx, full/22+w.steps*w.size/11+w.size); err != nil {
		return nil, err
	}
	for range full / 2 / w.size {
		if err := b.settle(ctx, w.size); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) error { return b.settle(ctx, w.size) }, nil
}

// limit makes only the writes that cannot be left out.
func limit(ctx context.Context, b *bench, w work) (step, error) {
	source, err := os.ReadFile("limit_work.lua")
	if err != nil {
		return nil, fmt.Errorf("run it in bench/: %w", err)
	}
	if err := b.add(ctx, full+w.size*(w.steps+2), loaded); err != nil {
		return nil, err
	}
	script := redis.NewScript(string(source))
	var held []any
	call := func(ctx context.Context, take int) error {
		args := append([]any{base, time.Now().UnixMilli(), token, locks.Milliseconds(), take}, held...)
		got, err := script.Run(ctx, b.client, nil, args...).StringSlice()
		if err != nil {
			return err
		}
		held = held[:0]
		for i := 0; i < len(got); i += 4 {
			held = append(held, got[i])
		}
		return nil
	}
	for range full / 2 / 50 {
		if err := call(ctx, 50); err != nil {
			return nil, err
		}
	}
	for range 2 {
		if err := call(ctx, w.size); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) error { return call(ctx, w.size) }, nil
}
