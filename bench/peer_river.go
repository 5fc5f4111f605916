package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// riverPeer is River on a PostgreSQL of its own.
type riverPeer struct {
	pool *pgxpool.Pool
}

// Kind is River's name of the job.
func (payload) Kind() string { return "job" }

// riverConnections is how many River may use: the default of its pool is one a core, and 4.
const riverConnections = 20

func newRiver(url string) (contender, error) {
	ctx := context.Background()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = riverConnections
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return &riverPeer{pool}, err
}

// client makes a client that works, or with no handler one that only adds. Its
// default pause of 100 ms between two fetches would bound what is measured: it
// is set to the least that River takes.
func (p *riverPeer) client(concurrency int, handle func()) (*river.Client[pgx.Tx], error) {
	c := &river.Config{Logger: slog.New(slog.DiscardHandler)}
	if handle != nil {
		c.Workers = river.NewWorkers()
		river.AddWorker(c.Workers, river.WorkFunc(func(context.Context, *river.Job[payload]) error {
			handle()
			return nil
		}))
		c.FetchCooldown = time.Millisecond
		c.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: concurrency}}
	}
	return river.NewClient(riverpgxv5.New(p.pool), c)
}

// empty forgets the jobs of the run before.
func (p *riverPeer) empty(ctx context.Context) error {
	_, err := p.pool.Exec(ctx, "TRUNCATE river_job")
	return err
}

func (p *riverPeer) load(ctx context.Context, o *order) error {
	if err := p.empty(ctx); err != nil {
		return err
	}
	c, err := p.client(0, nil)
	if err != nil {
		return err
	}
	return addFast(ctx, c, 0, o.Warm+o.Jobs, 1000)
}

func addFast(ctx context.Context, c *river.Client[pgx.Tx], from, to, size int) error {
	batch := make([]river.InsertManyParams, 0, size)
	for i := from; i < to; i++ {
		if batch = append(batch, river.InsertManyParams{Args: newPayload(i)}); len(batch) == size || i == to-1 {
			if _, err := c.InsertManyFast(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return nil
}

func (p *riverPeer) work(ctx context.Context, o *order, m *meter) error {
	c, err := p.client(o.Concurrency, func() { m.handle(o) })
	if err != nil {
		return err
	}
	if err := c.Start(ctx); err != nil {
		return err
	}
	<-m.finished
	return c.Stop(ctx)
}

func (p *riverPeer) bulk(ctx context.Context, o *order, m *meter) error {
	if err := p.empty(ctx); err != nil {
		return err
	}
	c, err := p.client(0, nil)
	if err != nil {
		return err
	}
	if err := addFast(ctx, c, 0, o.Warm, o.Size); err != nil {
		return err
	}
	m.begin()
	err = addFast(ctx, c, o.Warm, o.Warm+o.Jobs, o.Size)
	m.stop()
	return err
}

func (p *riverPeer) single(ctx context.Context, o *order, m *meter) error {
	if err := p.empty(ctx); err != nil {
		return err
	}
	c, err := p.client(0, nil)
	if err != nil {
		return err
	}
	return spread(o.Warm+o.Jobs, o.Concurrency, func(i int) error {
		_, err := c.Insert(ctx, newPayload(i), nil)
		m.tick()
		return err
	})
}

func (p *riverPeer) latency(context.Context, *order, *meter) error {
	return errors.New("River takes no part in this work")
}

func (p *riverPeer) addFlows(context.Context, *order, *meter) error { return errNoFlows }

func (p *riverPeer) workFlows(context.Context, *order, *meter) error { return errNoFlows }
