package redisq

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

func TestDriverLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	driverLog{log}.Printf(context.Background(), "failed to dial after %d attempts", 1)
	require.Contains(t, out.String(), `msg="go-redis: failed to dial after 1 attempts"`)
}

// driverLines makes go-redis write into a buffer until the test's end. That is
// a setting of the whole process: no test that uses it is parallel.
func driverLines(t *testing.T) *lines {
	out := &lines{}
	LogDriver(slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	t.Cleanup(func() { LogDriver(slog.New(slog.DiscardHandler)) })
	return out
}

type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// slowDial says when a connection is asked for, and makes it when it may.
type slowDial struct{ asked, may chan struct{} }

func (d *slowDial) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d.asked <- struct{}{}
	<-d.may
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// What is closed while its connection is made ends without a word of go-redis,
// and leaves nothing behind.
func TestClosingWhileItConnectsIsSilent(t *testing.T) {
	for name, start := range map[string]func(ctx context.Context, cancel func(), s *Store, result chan<- error) (end func()){
		"waiter": func(_ context.Context, _ func(), s *Store, result chan<- error) func() {
			w := s.NewWaiter("q", "w")
			go func() { _, err := w.Wait(context.Background(), long); result <- err }()
			return func() { _ = w.Close() }
		},
		"context of a waiter": func(ctx context.Context, cancel func(), s *Store, result chan<- error) func() {
			go func() { _, err := s.NewWaiter("q", "w").Wait(ctx, long); result <- err }()
			return cancel
		},
		"context of a reader": func(ctx context.Context, cancel func(), s *Store, result chan<- error) func() {
			go func() { _, err := s.ReadEvents(ctx, "q", "", long); result <- err }()
			return cancel
		},
		storeOfReader: func(ctx context.Context, _ func(), s *Store, result chan<- error) func() {
			go func() { _, err := s.ReadEvents(ctx, "q", "", long); result <- err }()
			return func() { _ = s.Close() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := testredis.Mini(t)
			before := goleak.IgnoreCurrent()
			printed := driverLines(t)
			d := &slowDial{make(chan struct{}, 1), make(chan struct{})}
			o := srv.Options()
			o.Dialer = d.dial
			client := redis.NewClient(o)
			s, err := New(client)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			result := make(chan error, 1)
			end := start(ctx, cancel, s, result)
			<-d.asked
			end()
			if name == storeOfReader {
				close(d.may)
			}
			require.Error(t, <-result)
			if name != storeOfReader {
				close(d.may)
			}
			require.NoError(t, s.Close())
			require.NoError(t, client.Close())
			goleak.VerifyNone(t, before)
			require.Empty(t, printed.String())
		})
	}
}

// storeOfReader is the one case in which a call lasts until the connection is made.
const storeOfReader = "store of a reader"

// A server that cannot be reached is told to whoever waits, with what to do
// about it, and not by go-redis as well.
func TestUnreachableServerIsToldOnce(t *testing.T) {
	printed := driverLines(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, free.Close())
	s := openOn(t, "redis://"+free.Addr().String())
	w := newWaiter(t, s, "q", "w")
	_, err = w.Wait(t.Context(), long)
	told(t, err)
	_, err = s.ReadEvents(t.Context(), "q", "", long)
	told(t, err)
	require.Empty(t, printed.String())
}

func told(t *testing.T, err error) {
	t.Helper()
	require.ErrorContains(t, err, "connect")
	require.ErrorContains(t, err, "is the server running")
	require.True(t, storage.Transient(err), err)
}
