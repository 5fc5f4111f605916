package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/hibiken/asynq"
)

// asynqPeer is asynq, with its defaults.
type asynqPeer struct{ addr string }

func newAsynq(addr string) (contender, error) { return &asynqPeer{addr}, nil }

func (p *asynqPeer) opt() asynq.RedisClientOpt { return asynq.RedisClientOpt{Addr: p.addr} }

func (p *asynqPeer) load(ctx context.Context, o *order) error {
	c := asynq.NewClient(p.opt())
	defer c.Close()
	return spread(o.Warm+o.Jobs, 50, func(i int) error { return enqueue(ctx, c, i) })
}

func enqueue(ctx context.Context, c *asynq.Client, i int) error {
	_, err := c.EnqueueContext(ctx, asynq.NewTask("job", newPayload(i).json()))
	return err
}

func (p *asynqPeer) server(concurrency int) *asynq.Server {
	return asynq.NewServer(p.opt(), asynq.Config{Concurrency: concurrency, LogLevel: asynq.FatalLevel})
}

func (p *asynqPeer) work(_ context.Context, o *order, m *meter) error {
	s := p.server(o.Concurrency)
	err := s.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		var d payload
		if err := json.Unmarshal(t.Payload(), &d); err != nil {
			return err
		}
		m.handle(o)
		return nil
	}))
	if err != nil {
		return err
	}
	<-m.finished
	s.Shutdown()
	return nil
}

func (p *asynqPeer) bulk(context.Context, *order, *meter) error {
	return errors.New("asynq has no call that adds many jobs")
}

func (p *asynqPeer) single(ctx context.Context, o *order, m *meter) error {
	c := asynq.NewClient(p.opt())
	defer c.Close()
	return spread(o.Warm+o.Jobs, o.Concurrency, func(i int) error {
		err := enqueue(ctx, c, i)
		m.tick()
		return err
	})
}

func (p *asynqPeer) latency(ctx context.Context, o *order, m *meter) error {
	received := make(chan time.Time, 1)
	s := p.server(o.Concurrency)
	err := s.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		received <- time.Now()
		return nil
	}))
	if err != nil {
		return err
	}
	defer s.Shutdown()
	c := asynq.NewClient(p.opt())
	defer c.Close()
	return pickUps(o, m, received, func(i int) error { return enqueue(ctx, c, i) })
}

var errNoFlows = errors.New("it has no flows")

func (p *asynqPeer) addFlows(context.Context, *order, *meter) error { return errNoFlows }

func (p *asynqPeer) workFlows(context.Context, *order, *meter) error { return errNoFlows }
