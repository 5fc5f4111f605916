package redisq

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/internal/wire"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
	"github.com/bullmq-gen/bullmq-gen/scripts"
)

// DefaultPrefix is what the keys of all queues begin with, here and in Node,
// unless both are told otherwise.
const DefaultPrefix = "bull"

// Store is a storage on Redis or Valkey. It is safe for concurrent use.
type Store struct {
	client  redis.UniversalClient
	cluster bool
	owned   bool // made here, so to be closed here
	prefix  string
	mode    string // what scripts get as MODE
	log     *slog.Logger
	now     func() time.Time
	readers readers
	gathers sync.Map // by queue, of *gather
	calls   *underway

	met      atomic.Bool // the server was looked at
	addKnown atomic.Bool // the server knew the script that adds, when it was last used

	closeOnce sync.Once
	closeErr  error
	script    func(name string) *scripts.Script
}

// Option changes how a Store works.
type Option func(*Store)

// Prefix sets what the keys of all queues begin with; the default is "bull".
// Peers that share queues must use the same. It may contain colons and braces.
func Prefix(prefix string) Option {
	return func(s *Store) { s.prefix = prefix }
}

// Peers5 says that BullMQ 5.x pauses and resumes queues that this store works
// with. Jobs added to a paused queue then go where 5.x looks for them when it
// resumes; without this option its resume would lose them. It costs 6.x peers
// only that they do not count such jobs until the queue is resumed. Programs of
// 5.x that listen for the event "debounced" get it too.
func Peers5() Option {
	return func(s *Store) { s.mode = "5" }
}

// Logger sets where the store reports, at level debug, what it tries again by
// itself; the default is slog.Default.
func Logger(log *slog.Logger) Option {
	return func(s *Store) { s.log = log }
}

// Clock makes the store read the time from now: that at which a parent with a
// delay is released because its last child was removed. All other times come
// with the calls. Give it the clock of the client (bullmq.WithClock) if that has
// one of its own.
func Clock(now func() time.Time) Option {
	return func(s *Store) { s.now = now }
}

// dialTimeout is the default of go-redis.
const dialTimeout = 5 * time.Second

// urlHelp says what a right URL looks like.
const urlHelp = `use redis://[user:password@]host:6379[/db], rediss://... for TLS, or unix://[user:password@]/path/to/socket[?db=n]`

// Open makes a store with a client of its own. The URL is one of redis://,
// rediss:// (TLS) or unix://; its query may set options of go-redis, such as
// pool_size, read_timeout or protocol. It connects when it is first used: call
// Ping to learn at once whether the server answers.
func Open(url string, opts ...Option) (*Store, error) {
	o, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	o.ContextTimeoutEnabled = true
	// Retrying is done here: only of what certainly did not happen, and within the context.
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.MaintNotificationsConfig = noMaintNotifications()
	if o.DialTimeout == 0 {
		o.DialTimeout = dialTimeout
	}
	o.Dialer = (&suspects{}).dialer(redis.NewDialer(o))
	s, err := New(redis.NewClient(o), opts...)
	if err != nil {
		return nil, err
	}
	s.owned = true
	return s, nil
}

// parseURL reads a URL. Its errors repeat nothing that may be a part of a password.
func parseURL(url string) (*redis.Options, error) {
	if spillsPassword(url) {
		return nil, storage.Invalid("bullmq: the URL of Redis is not right (the characters / ? # %% of a user or password must be escaped, as url.UserPassword does it): %s", urlHelp)
	}
	o, err := redis.ParseURL(url)
	switch {
	case err == nil:
		return o, nil
	case strings.Contains(url, "@"):
		return nil, storage.Invalid("bullmq: the URL of Redis is not right (it is not shown, since it has a password; the characters / ? # %% @ in one must be escaped, as url.UserPassword does it): %s", urlHelp)
	}
	return nil, storage.Invalid("bullmq: the URL of Redis is not right (%s): %s", withoutURL(err), urlHelp)
}

// spillsPassword reports whether a URL's user or password has a character that
// ends them early, so that the rest would be taken for a host, path or fragment.
func spillsPassword(url string) bool {
	scheme, rest, _ := strings.Cut(url, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		return false
	}
	authority, tail := rest[:end], rest[end:]
	if scheme == "unix" && (authority == "" || strings.Contains(authority, "@")) {
		return false // its path may have any character
	}
	path, query, _ := strings.Cut(tail, "?")
	return strings.Contains(path, "@") || strings.Contains(query, "#") && strings.Contains(query, "@") ||
		strings.Contains(query, "@") && !strings.Contains(query, "=")
}

// withoutURL is an error's text without the URL in it, which may hold a password.
func withoutURL(err error) string {
	var inner interface{ Unwrap() error }
	if errors.As(err, &inner) && inner.Unwrap() != nil {
		return inner.Unwrap().Error()
	}
	return err.Error()
}

// New makes a store on a client that the program made and goes on to own: Close
// does not close it. It may be a *redis.Client (also one that follows Sentinel)
// or a *redis.ClusterClient, with any options. A few connections for blocking
// calls are opened beside its pool, with the same options.
func New(client redis.UniversalClient, opts ...Option) (*Store, error) {
	s := &Store{client: client, prefix: DefaultPrefix, mode: "6", log: slog.Default(), now: time.Now, calls: newUnderway(), script: script}
	switch c := client.(type) {
	case *redis.Client:
		if c == nil {
			return nil, storage.Invalid("bullmq: the Redis client is nil")
		}
	case *redis.ClusterClient:
		if c == nil {
			return nil, storage.Invalid("bullmq: the Redis client is nil")
		}
		s.cluster = true
	default:
		return nil, storage.Invalid("bullmq: a Redis client of type %T cannot hold queues: use redis.NewClient, NewFailoverClient or NewClusterClient", client)
	}
	for _, o := range opts {
		o(s)
	}
	if s.prefix == "" {
		return nil, storage.Invalid(`bullmq: the prefix is empty: leave it out for the default, "bull"`)
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s, nil
}

// Ping reports whether the server answers, and can hold queues.
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, redis.NewStatusCmd(ctx, "ping"))
}

// Close closes the connections that were opened by the store itself. Those of
// a store that Open made are all: it lets calls under way end, for up to two
// seconds, and later ones return [storage.ErrClosed]. Close it after the
// workers and clients that use it.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		if s.owned {
			s.calls.close(lastAnswers)
		}
		s.readers.close()
		if s.owned {
			s.closeErr = s.client.Close()
		}
	})
	return s.closeErr
}

// ErrNoHashTag is returned on a cluster for a queue whose keys would be spread over
// slots. It is also a [storage.ErrInvalid].
var ErrNoHashTag = errors.New("its keys are not in one slot of the cluster: put a hash tag in the prefix, as in Prefix(\"{jobs}\"), or in the queue's name, as in \"{mail}\"")

// Usable implements [storage.Storage].
func (s *Store) Usable(queue string) error {
	_, err := s.base(queue)
	return err
}

// base is what the keys of a queue begin with, "<prefix>:<queue>:". It refuses,
// before anything is sent, names that no peer accepts, and queues that a
// cluster cannot hold.
func (s *Store) base(queue string) (string, error) {
	if err := wire.CheckQueue(queue); err != nil {
		return "", storage.Invalid("bullmq: %w", err)
	}
	b := s.prefix + ":" + queue + ":"
	if s.cluster && hashTag(b) == "" {
		return "", storage.Invalid("bullmq: queue %q: %w", queue, ErrNoHashTag)
	}
	return b, nil
}

// hashTag is the part of a key that a cluster finds its slot by, or "" when it takes the whole key.
func hashTag(key string) string {
	_, rest, ok := strings.Cut(key, "{")
	if !ok {
		return ""
	}
	tag, _, ok := strings.Cut(rest, "}")
	if !ok {
		return ""
	}
	return tag
}
