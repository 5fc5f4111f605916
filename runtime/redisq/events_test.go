package redisq

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

func TestEventLog(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		start, err := b.LastEvent(b.ctx, "q")
		require.NoError(t, err)
		none, err := b.ReadEvents(b.ctx, "q", start, time.Millisecond)
		require.NoError(t, err)
		require.Empty(t, none)

		for _, n := range []string{"1", "2", "3"} {
			require.NoError(t, b.Publish(b.ctx, "q", "mine", 0, "n", n, "", "é\x00"))
		}
		for _, from := range []string{start, ""} {
			list, err := b.ReadEvents(b.ctx, "q", from, 0)
			require.NoError(t, err)
			require.Len(t, list, 3)
			for i, e := range list {
				require.Equal(t, "mine", e.Name)
				require.Equal(t, map[string]string{"n": itoa(i + 1), "": "é\x00"}, e.Fields)
			}
			for _, cursor := range []string{start, list[0].Cursor} {
				kept, err := b.EventKept(b.ctx, "q", cursor)
				require.NoError(t, err)
				require.True(t, kept)
			}
			last, err := b.LastEvent(b.ctx, "q")
			require.NoError(t, err)
			require.Equal(t, list[2].Cursor, last)
			rest, err := b.ReadEvents(b.ctx, "q", list[1].Cursor, time.Minute)
			require.NoError(t, err)
			require.Equal(t, list[2:], rest)
		}
		kept, err := b.EventKept(b.ctx, "q", "1-1")
		require.NoError(t, err)
		require.False(t, kept)
		_, err = b.ReadEvents(b.ctx, "q", "no cursor", 0)
		require.ErrorContains(t, err, "bullmq: redis: ")
	})
}

// A read returns as soon as there is an event.
func TestReadEventsWaits(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		start, err := b.LastEvent(b.ctx, "q")
		require.NoError(t, err)
		for n := range 3 {
			var list []storage.Event
			var wg sync.WaitGroup
			wg.Go(func() { list, err = b.ReadEvents(b.ctx, "q", start, time.Hour) })
			require.NoError(t, b.Publish(b.ctx, "q", "e", 0, "n", itoa(n)))
			wg.Wait()
			require.NoError(t, err)
			require.Len(t, list, 1)
			require.Equal(t, itoa(n), list[0].Fields["n"])
			start = list[0].Cursor
		}
		require.Len(t, b.readers.idle, 1, "one connection serves all reads")
	})
}

// At most 1000 events come at once, and none is passed over.
func TestReadEventsInPages(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		_, err := b.Add(b.ctx, "q", plainJobs(600)) // two events each
		require.NoError(t, err)
		cursor, seen := "", 0
		for {
			list, err := b.ReadEvents(b.ctx, "q", cursor, time.Millisecond)
			require.NoError(t, err)
			if len(list) == 0 {
				break
			}
			require.LessOrEqual(t, len(list), eventsAtOnce)
			cursor, seen = list[len(list)-1].Cursor, seen+len(list)
		}
		require.Equal(t, 1200, seen)
	})
}

// A read that waits ends with its context, and with the store.
func TestReadEventsEnds(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(b.ctx)
		done := make(chan error, 1)
		read := func(ctx context.Context) {
			_, err := b.ReadEvents(ctx, "q", "0-0", time.Hour)
			done <- err
		}
		go read(ctx)
		b.awaitReader(1)
		cancel(cause)
		require.ErrorIs(t, <-done, cause)
		b.awaitReader(0)

		go read(b.ctx)
		b.awaitReader(1)
		require.NoError(t, b.Close())
		require.ErrorIs(t, <-done, storage.ErrClosed)
		_, err := b.ReadEvents(b.ctx, "q", "", time.Hour)
		require.ErrorIs(t, err, storage.ErrClosed)
		require.NoError(t, b.c.Ping(b.ctx).Err(), "the given client is not")
	})
}

// awaitReader waits until n reads are under way.
func (b *bench) awaitReader(n int) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		b.readers.mu.Lock()
		defer b.readers.mu.Unlock()
		return len(b.readers.busy) == n
	}, patience, time.Millisecond)
}

// A lost connection is an error, and the next read makes a new one.
func TestReadEventsOverABrokenConnection(t *testing.T) {
	t.Parallel()
	srv := testredis.Shared(t)
	link := testredis.Proxy(t, srv.Addr())
	s, err := Open(link.URL() + "/" + itoa(srv.DB()))
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	b := &bench{Store: s, t: t, c: srv.Client(t), ctx: t.Context()}
	done := make(chan error, 1)
	go func() {
		_, err := s.ReadEvents(b.ctx, "q", "", time.Hour)
		done <- err
	}()
	require.Eventually(t, func() bool { open, _ := link.Connections(); return open > 0 }, patience, time.Millisecond)
	link.Cut()
	require.True(t, storage.Transient(<-done))
	require.NoError(t, s.Publish(b.ctx, "q", "e", 0))
	list, err := s.ReadEvents(b.ctx, "q", "", time.Hour)
	require.NoError(t, err)
	require.Len(t, list, 1)
}

// A server that is silent past the end of the wait is given up.
func TestReadEventsFromASilentServer(t *testing.T) {
	t.Parallel()
	srv := testredis.Shared(t)
	link := testredis.Proxy(t, srv.Addr())
	s, err := Open(link.URL())
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	_, err = s.ReadEvents(t.Context(), "q", "", time.Millisecond)
	require.NoError(t, err)
	link.Stall()
	_, err = s.ReadEvents(t.Context(), "q", "", time.Millisecond)
	require.ErrorContains(t, err, "no answer within")
	require.True(t, storage.Transient(err))
	link.Flow()
	_, err = s.ReadEvents(t.Context(), "q", "", time.Millisecond)
	require.NoError(t, err)
}

// The connection of a reader has the name that peers look for.
func TestReaderHasAName(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	s, err := New(srv.Client(t), Prefix("p"))
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	_, err = s.ReadEvents(t.Context(), "q", "", time.Millisecond)
	require.NoError(t, err)
	require.Contains(t, srv.Client(t).ClientList(t.Context()).Val(), "name=p:cQ==:qe ")
}

// Readers of many queues do not leave a connection for each behind.
func TestIdleReadersAreFew(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		for n := range idleReaders * 3 {
			_, err := b.ReadEvents(b.ctx, "q"+itoa(n), "", time.Millisecond)
			require.NoError(t, err)
		}
		require.Len(t, b.readers.idle, idleReaders)
		require.Empty(t, b.readers.busy)
	})
}

func TestTrimEvents(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		n, err := b.TrimEvents(b.ctx, "q", 0)
		require.NoError(t, err)
		require.Zero(t, n)
		_, err = b.Add(b.ctx, "q", plainJobs(1000))
		require.NoError(t, err)
		n, err = b.TrimEvents(b.ctx, "q", 500)
		require.NoError(t, err)
		left := b.c.XLen(b.ctx, b.key("q", "events")).Val()
		require.Equal(t, int64(2000-n), left)
		require.GreaterOrEqual(t, left, int64(500))
		require.Less(t, left, int64(700), "about as many as asked for")
		_, err = b.TrimEvents(b.ctx, "q", -1)
		require.ErrorContains(t, err, "cannot keep -1")
	})
}

func TestPublishRefuses(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		require.ErrorContains(t, b.Publish(b.ctx, "q", "", 0), "needs a name")
		require.ErrorContains(t, b.Publish(b.ctx, "q", "e", -1), "cannot keep -1 events")
		require.ErrorContains(t, b.Publish(b.ctx, "q", "e", 0, "a"), "the last field has no value")
		require.ErrorContains(t, b.Publish(b.ctx, "q", "e", 0, "a", "b", "event", "x"), `cannot be called "event"`)
		require.Empty(t, b.keys())
	})
}

// Publishing keeps the stream short, to 1000 events unless told otherwise.
func TestPublishKeepsTheStreamShort(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		_, err := b.Add(b.ctx, "q", plainJobs(1000))
		require.NoError(t, err)
		for keep, most := range map[int]int64{0: 1200, 100: 300} {
			require.NoError(t, b.Publish(b.ctx, "q", "e", keep))
			require.LessOrEqual(t, b.c.XLen(b.ctx, b.key("q", "events")).Val(), most)
		}
	})
}

func TestAnnounce(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		meta := func() map[string]string { return b.c.HGetAll(b.ctx, b.key("q", "meta")).Val() }
		require.NoError(t, b.Announce(b.ctx, "q", "bullmq-gen:1", -1))
		require.Equal(t, map[string]string{"version": "bullmq-gen:1"}, meta())
		require.NoError(t, b.Announce(b.ctx, "q", "bullmq-gen:2", 0))
		require.Equal(t, map[string]string{"version": "bullmq-gen:1", "opts.maxLenEvents": "0"}, meta())
		b.do("hset", b.key("q", "meta"), "version", "bullmq:6.7.0", "opts.maxLenEvents", "77", "paused", "1")
		require.NoError(t, b.Announce(b.ctx, "q", "bullmq-gen:2", -1))
		require.Equal(t, map[string]string{"version": "bullmq:6.7.0", "opts.maxLenEvents": "77", "paused": "1"}, meta(), "what a peer chose stays")
	})
}
