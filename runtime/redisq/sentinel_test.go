package redisq

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// After a planned failover under a real sentinel, a waiting worker and a reader of
// events go on at the new master, and every acknowledged job is there.
func TestAPlannedFailoverLosesNoJobAndNoReader(t *testing.T) {
	t.Parallel()
	servers := testredis.Sentinel(t)
	s, err := New(servers.Client(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	ctx := t.Context()
	const jobs = 50
	for i := range jobs {
		_, err := s.Add(ctx, "q", []storage.NewJob{plainJob(fmt.Sprint("job", i))})
		require.NoError(t, err)
	}
	require.NoError(t, servers.Master.Client(t).Del(ctx, "bull:q:marker").Err()) // nothing wakes the waiter but the failover
	require.NoError(t, servers.Master.Client(t).Wait(ctx, 1, patience).Err())
	cursor, err := s.LastEvent(ctx, "q")
	require.NoError(t, err)
	w := newWaiter(t, s, "q", "w")
	woken := goWait(ctx, w, time.Hour)
	events := make(chan []storage.Event, 1)
	go func() {
		for ctx.Err() == nil {
			if list, err := s.ReadEvents(ctx, "q", cursor, time.Hour); err == nil && len(list) > 0 {
				events <- list
				return
			}
		}
	}()
	blocked(t, servers.Master.Client(t), 2)

	servers.Failover()
	if got := receive(t, woken); got.err != nil { // the old master may have closed the connection first
		require.ErrorIs(t, got.err, storage.ErrUnavailable)
	}
	woken = goWait(ctx, w, time.Hour)
	blocked(t, servers.Master.Client(t), 2)
	require.Eventually(t, func() bool { return s.Publish(ctx, "q", "hello", 0) == nil && s.Wake(ctx, "q") == nil }, patience, 20*time.Millisecond)
	require.NoError(t, receive(t, woken).err)
	select {
	case list := <-events:
		require.Equal(t, "hello", list[0].Name)
	case <-time.After(patience):
		require.Fail(t, "no event was read from the new master")
	}
	counts, err := s.Counts(context.Background(), "q", storage.StateWaiting)
	require.NoError(t, err)
	require.Equal(t, []int{jobs}, counts)
}

// A reader whose old master goes on to serve follows too.
func TestAReaderOfEventsFollowsSentinelToTheNewMaster(t *testing.T) {
	t.Parallel()
	old, next := testredis.Start(t), testredis.Start(t)
	sentinel := newFakeSentinel(t, old)
	s, err := New(sentinel.client(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	events := make(chan storage.Event, 1)
	go func() {
		for t.Context().Err() == nil {
			if list, err := s.ReadEvents(t.Context(), "q", "0-0", time.Hour); err == nil && len(list) > 0 {
				events <- list[0]
				return
			}
		}
	}()
	blocked(t, old.Client(t), 1)
	sentinel.names(next)
	blocked(t, next.Client(t), 1)
	require.NoError(t, next.Client(t).Do(t.Context(), "xadd", "bull:q:events", "*", "event", "hello").Err())
	select {
	case e := <-events:
		require.Equal(t, "hello", e.Name)
	case <-time.After(patience):
		require.Fail(t, "no event was read from the new master")
	}
}
