package redisq

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Metrics implements [storage.Inspector]. Negative places count from the
// oldest point, which is -1.
func (s *Store) Metrics(ctx context.Context, queue string, state storage.State, start, end int) (storage.Metrics, error) {
	if err := s.check("read metrics", queue).finished(state).err(); err != nil {
		return storage.Metrics{}, err
	}
	b, err := s.base(queue)
	if err != nil {
		return storage.Metrics{}, err
	}
	key := b + "metrics:" + string(state)
	var (
		all    = redis.NewMapStringStringCmd(ctx, "hgetall", key)
		points = redis.NewStringSliceCmd(ctx, "lrange", key+":data", start, end)
		total  = redis.NewIntCmd(ctx, "llen", key+":data")
	)
	if err := s.readAtOnce(ctx, all, points, total); err != nil {
		return storage.Metrics{}, err
	}
	m := storage.Metrics{
		Count: parseInt(all.Val()["count"]), Prev: parseInt(all.Val()["prevCount"]),
		PrevTime: parseTime(all.Val()["prevTS"]), Total: int(total.Val()),
	}
	for _, p := range points.Val() {
		m.Points = append(m.Points, parseInt(p))
	}
	return m, nil
}

// Meta implements [storage.Inspector].
func (s *Store) Meta(ctx context.Context, queue string) (storage.Meta, error) {
	b, err := s.base(queue)
	if err != nil {
		return storage.Meta{}, err
	}
	cmd := redis.NewMapStringStringCmd(ctx, "hgetall", b+"meta")
	if err := s.read(ctx, cmd); err != nil {
		return storage.Meta{}, err
	}
	m := storage.Meta{}
	fields := cmd.Val()
	limit := fields["max"] != "" && fields["duration"] != ""
	for name, value := range fields {
		switch {
		case name == "version":
			m.Version = value
		case name == "paused":
			m.Paused = true // whatever its value: scripts look only whether it is there
		case name == "opts.maxLenEvents":
			m.MaxEvents = parseInt(value)
		case name == "concurrency":
			m.Concurrency = parseInt(value)
		case limit && name == "max", limit && name == "duration":
			m.Limit = &storage.RateLimit{Max: parseInt(fields["max"]), Per: parseDelay(fields["duration"])}
		default:
			if m.Extra == nil {
				m.Extra = map[string]string{}
			}
			m.Extra[name] = value
		}
	}
	return m, nil
}

// RateLimitTTL implements [storage.Inspector].
func (s *Store) RateLimitTTL(ctx context.Context, queue string, max int) (time.Duration, error) {
	in := s.check("read rate limit", queue).notNegative("maximum", max, "the queue's own")
	if err := in.err(); err != nil {
		return 0, err
	}
	b, err := s.base(queue)
	if err != nil {
		return 0, err
	}
	var (
		count = redis.NewStringCmd(ctx, "get", b+"limiter")
		ttl   = redis.NewIntCmd(ctx, "pttl", b+"limiter")
		own   = redis.NewStringCmd(ctx, "hget", b+"meta", "max")
	)
	if err := s.readAtOnce(ctx, count, ttl, own); err != nil {
		return 0, err
	}
	most := int64(max)
	if most == 0 {
		most = parseInt64(own.Val())
	}
	// Without a maximum, any count in force is one that a worker's own limiter, or RateLimit, made.
	if ttl.Val() <= 0 || parseInt64(count.Val()) < most {
		return 0, nil
	}
	return time.Duration(ttl.Val()) * time.Millisecond, nil
}

// Workers implements [storage.Inspector]. A server that does not list its
// clients has none to show: some hosted ones, and the embedded one.
func (s *Store) Workers(ctx context.Context, queue string) ([]storage.Worker, error) {
	if _, err := s.base(queue); err != nil {
		return nil, err
	}
	c, ok := s.client.(*redis.ClusterClient)
	if !ok {
		list, err := s.clientList(ctx, s.client.Process)
		return s.workersIn(list, queue), err
	}
	// The queue's workers are connected to the node that has its keys; after a
	// resharding the others may still name a few.
	var mu sync.Mutex
	var most []storage.Worker
	err := c.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		list, err := s.clientList(ctx, node.Process)
		workers := s.workersIn(list, queue)
		mu.Lock()
		defer mu.Unlock()
		if len(workers) > len(most) {
			most = workers
		}
		return err
	})
	return most, err
}

func (s *Store) clientList(ctx context.Context, process func(context.Context, redis.Cmder) error) (string, error) {
	cmd := redis.NewStringCmd(ctx, "client", "list")
	err := s.retry(ctx, func() (bool, error) { return false, guarded(func() error { return process(ctx, cmd) }) })
	if err != nil && isReply(err) && isUnknownCommand(err) {
		return "", nil
	}
	return cmd.Val(), err
}

// isUnknownCommand reports whether the server does not have a command at all.
func isUnknownCommand(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "unknown command") || strings.Contains(text, "unknown subcommand") || strings.Contains(text, "not supported")
}

// workersIn finds a queue's workers in what CLIENT LIST says.
func (s *Store) workersIn(list, queue string) []storage.Worker {
	base := clientName(s.prefix, queue, "")
	var workers []storage.Worker
	for line := range strings.Lines(list) {
		fields := map[string]string{}
		for _, f := range strings.Fields(line) {
			if name, value, ok := strings.Cut(f, "="); ok {
				fields[name] = value
			}
		}
		client := fields["name"]
		name, named := strings.CutPrefix(client, base+":w:")
		if client != base && !named {
			continue
		}
		if !named {
			name = ""
		}
		workers = append(workers, storage.Worker{
			Name: name, Addr: fields["addr"], Client: client, Fields: fields,
			Idle: time.Duration(parseInt64(fields["idle"])) * time.Second,
			Age:  time.Duration(parseInt64(fields["age"])) * time.Second,
		})
	}
	return workers
}
