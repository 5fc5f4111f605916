package redisq

import (
	"context"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// noMaintNotifications turns off a feature of hosted servers that asks each
// new connection a question which others do not know.
func noMaintNotifications() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// dedicated is a client for blocking calls, one at a time.
type dedicated struct {
	client *redis.Client

	mu     sync.Mutex
	conn   net.Conn                                // what a call under way waits on
	find   func(context.Context) (net.Conn, error) // connects to the present master; nil: there is only one server
	undone error                                   // why the last connection was not made
	busy   bool
	closed bool
}

// Process sends a command and waits for its reply.
func (d *dedicated) Process(ctx context.Context, cmd redis.Cmder) error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return net.ErrClosed
	}
	d.busy = true
	d.mu.Unlock()
	err := guarded(func() error { return d.client.Process(ctx, cmd) })
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy = false
	if d.closed {
		_ = d.client.Close()
	}
	if err != nil && d.undone != nil {
		return d.undone
	}
	return err
}

// Close closes the connection. A call under way ends with an error, and closes
// the client when it has: go-redis complains about one that is closed before.
func (d *dedicated) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if !d.busy {
		return d.client.Close()
	}
	if d.conn != nil {
		return d.conn.Close()
	}
	return nil
}

// dialer remembers the connection that dial makes. It never fails: go-redis
// would print a line to the standard error, also about a connection that was
// closed while it was made, and go on dialing in the background. It gets a
// connection that is closed, and Process returns why.
func (d *dedicated) dialer(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		d.mu.Lock()
		defer d.mu.Unlock()
		if err == nil && d.closed {
			_ = c.Close()
			err = net.ErrClosed
		}
		if d.undone = err; err != nil {
			c, _ = net.Pipe()
			_ = c.Close()
			return c, nil
		}
		d.conn = c
		return c, nil
	}
}

// followsSentinel is what go-redis gives for the address of a client that asks
// Sentinel for the master.
const followsSentinel = "FailoverClient"

// outdated reports whether another server is the master now. A planned failover
// leaves connections to the old one as they are for some seconds.
func (d *dedicated) outdated(ctx context.Context) bool {
	d.mu.Lock()
	mine := remote(d.conn)
	d.mu.Unlock()
	if d.find == nil || mine == "" {
		return false
	}
	c, err := d.find(ctx)
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	return remote(c) != mine
}

// dedicate makes a client with a single connection of its own, to the server
// that holds the queue, for blocking calls, one at a time. Closing it ends a
// call under way. The connection is named clientName, if that is not empty.
func (s *Store) dedicate(ctx context.Context, queue, clientName string) (*dedicated, error) {
	b, err := s.base(queue)
	if err != nil {
		return nil, err
	}
	var o redis.Options
	switch c := s.client.(type) {
	case *redis.Client:
		o = *c.Options()
	case *redis.ClusterClient:
		node, err := c.MasterForKey(ctx, b+"meta")
		if err != nil {
			return nil, explain(err)
		}
		o = *node.Options()
	}
	o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = 1, 0, 1, 1
	o.MaxRetries, o.DialerRetries = -1, 1
	o.ConnMaxIdleTime = -1
	o.ContextTimeoutEnabled = true
	// A call may block for longer than others take.
	o.ReadTimeout = maxBlock + 2*overdue
	o.MaintNotificationsConfig = noMaintNotifications()
	// Those of the other client stay its own.
	o.PushNotificationProcessor, o.ClientSideCache, o.ClientSideCacheConfig = nil, nil, nil
	if clientName != "" {
		o.OnConnect = named(clientName, o.OnConnect)
	}
	d := &dedicated{}
	if dial, network, addr := o.Dialer, o.Network, o.Addr; addr == followsSentinel {
		d.find = func(ctx context.Context) (net.Conn, error) { return dial(ctx, network, addr) }
	}
	o.Dialer = d.dialer(o.Dialer)
	d.client = redis.NewClient(&o)
	return d, nil
}

// named gives a new connection its name, after what the program's own client does with new ones.
func named(name string, before func(context.Context, *redis.Conn) error) func(context.Context, *redis.Conn) error {
	return func(ctx context.Context, c *redis.Conn) error {
		if before != nil {
			if err := before(ctx, c); err != nil {
				return err
			}
		}
		// Some servers and users may not do this: only a broken connection matters.
		if err := c.ClientSetName(ctx, name).Err(); err != nil && !isReply(err) {
			return err
		}
		return nil
	}
}
