package main

import (
	"context"
	_ "embed"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed limit_work.lua
var limitWork string

//go:embed limit_add.lua
var limitAdd string

// limit is no queue: it makes the writes of a job's life that cannot be left
// out, in the best batched form, with nothing around them.
type limit struct {
	client    *redis.Client
	work_, in *redis.Script
}

func newLimit(addr string) (contender, error) {
	return &limit{redis.NewClient(&redis.Options{Addr: addr}), redis.NewScript(limitWork), redis.NewScript(limitAdd)}, nil
}

const limitBase = "bull:bench:"

// limitLanes is how many calls are under way, limitBatch how many jobs one has.
const limitLanes, limitBatch = 2, 50

func (p *limit) load(ctx context.Context, o *order) error { return p.add(ctx, 0, o.Warm+o.Jobs, 200) }

func (p *limit) add(ctx context.Context, from, to, size int) error {
	return spread((to-from+size-1)/size, limitLanes, func(call int) error {
		low := from + call*size
		args := []any{limitBase, time.Now().UnixMilli()}
		for i := low; i < min(low+size, to); i++ {
			args = append(args, newPayload(i).json())
		}
		return p.in.Run(ctx, p.client, nil, args...).Err()
	})
}

func (p *limit) work(ctx context.Context, o *order, m *meter) error {
	if o.HandlerMS > 0 {
		return errors.New("the limit is of jobs that take no time")
	}
	lanes := min(limitLanes, o.Concurrency)
	errs := make([]error, lanes)
	var all sync.WaitGroup
	for i := range lanes {
		all.Go(func() { errs[i] = p.lane(ctx, m, min(o.Concurrency, limitBatch)) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (p *limit) lane(ctx context.Context, m *meter, size int) error {
	var held []string
	for {
		args := make([]any, 0, 5+size)
		args = append(args, limitBase, time.Now().UnixMilli(), "a token as long as a usual one:1234567890", 30000, size)
		for _, id := range held {
			args = append(args, id)
		}
		got, err := p.work_.Run(ctx, p.client, nil, args...).StringSlice()
		if err != nil {
			return err
		}
		for range held {
			m.tick()
		}
		held = held[:0]
		for i := 0; i < len(got); i += 4 {
			held = append(held, got[i])
		}
		if len(held) == 0 {
			return nil
		}
	}
}

func (p *limit) bulk(ctx context.Context, o *order, m *meter) error {
	if err := p.add(ctx, 0, o.Warm, 200); err != nil {
		return err
	}
	m.begin()
	err := p.add(ctx, o.Warm, o.Warm+o.Jobs, 200)
	m.stop()
	return err
}

// single is the limit of adding when all calls that are under way are in one batch.
func (p *limit) single(ctx context.Context, o *order, m *meter) error {
	if err := p.add(ctx, 0, o.Warm, limitBatch); err != nil {
		return err
	}
	m.begin()
	err := p.add(ctx, o.Warm, o.Warm+o.Jobs, limitBatch)
	m.stop()
	return err
}

// latency is that of a blocking call that another connection ends.
func (p *limit) latency(ctx context.Context, o *order, m *meter) error {
	received, stop := make(chan time.Time, 1), atomic.Bool{}
	go func() {
		for !stop.Load() {
			if p.client.BZPopMin(ctx, time.Second, limitBase+"marker").Err() == nil && !stop.Load() {
				received <- time.Now()
			}
		}
	}()
	err := pickUps(o, m, received, func(i int) error { return p.add(ctx, i, i+1, 1) })
	stop.Store(true)
	return errors.Join(err, p.client.ZAdd(ctx, limitBase+"marker", redis.Z{Member: strconv.Itoa(0)}).Err())
}

func (p *limit) addFlows(context.Context, *order, *meter) error { return errNoFlows }

func (p *limit) workFlows(context.Context, *order, *meter) error { return errNoFlows }
