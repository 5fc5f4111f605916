package redisq

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/audit"
	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// lastingState is what a database holds, without what a repeated call may write
// once more: numbers that were given to no job, events, and the word to cancel,
// which is as good twice as once.
func (b *bench) lastingState() vectors.Keyspace {
	state := b.state()
	for key, e := range state {
		if e.Type == "stream" || strings.HasSuffix(key, ":id") || strings.HasSuffix(key, ":pc") || strings.HasSuffix(key, ":marker") {
			delete(state, key)
			continue
		}
		for i := range e.Sorted { // a job that is placed twice stands behind those of the same time or priority
			switch {
			case strings.HasSuffix(key, ":delayed"):
				e.Sorted[i].Score = math.Floor(e.Sorted[i].Score / 4096)
			case strings.HasSuffix(key, ":prioritized"):
				e.Sorted[i].Score = math.Floor(e.Sorted[i].Score / (1 << 32))
			}
		}
		if e.TTL != nil {
			e.TTL = new(int64) // how long is a matter of this machine's speed
			state[key] = e
		}
	}
	return state
}

// A server that carries out a request, and whose answer is lost, leaves nothing
// doubled and nothing lost: whichever request of a call it was, its caller learns
// of what may have been written, and the same call again ends as if it was made once.
func TestALostAnswerNeitherDoublesNorLosesAnything(t *testing.T) {
	t.Parallel()
	for i, c := range everyCall() {
		t.Run(fmt.Sprint(c.method, i), func(t *testing.T) {
			throughProxy(t, func(b *bench, link *testredis.Link) { loseEach(b, link, c) })
		})
	}
}

// loseEach loses each answer of a call in turn.
func loseEach(b *bench, link *testredis.Link, c storageCall) {
	b.now = func() time.Time { return sceneTime }
	direct := &bench{Store: b.direct(), t: b.t, c: b.c, ctx: b.ctx}
	begin := func() *Store {
		direct.begin(c)
		s, err := New(redis.NewClient(&redis.Options{Addr: link.Addr(), DB: b.c.Options().DB, MaxRetries: -1, Protocol: 2, DisableIdentity: true, ContextTimeoutEnabled: true}), Clock(b.now))
		require.NoError(b.t, err)
		require.NoError(b.t, s.Ping(b.ctx))
		s.addKnown.Store(true)
		s.owned = true
		b.t.Cleanup(func() { _ = s.Close() })
		return s
	}
	require.NoError(b.t, c.call(b.ctx, begin())) // the server knows all scripts now
	s := begin()
	asked := link.Requests()
	require.NoError(b.t, c.call(b.ctx, s))
	requests := link.Requests() - asked
	want := b.lastingState()
	require.Empty(b.t, audit.Keyspace(b.state(), "bull", audit.Looking("q")))
	if c.effect == asksNone {
		require.Zero(b.t, requests)
		return
	}
	require.NotZero(b.t, requests)
	uncertain := false
	for nth := 1; nth <= requests; nth++ {
		s := begin()
		dropped := link.Dropped()
		link.DropNthReply(nth)
		err := c.call(b.ctx, s)
		require.Equal(b.t, dropped+1, link.Dropped(), "answer %d of %d", nth, requests)
		switch c.effect {
		case reads, sets:
			require.NoError(b.t, err, "answer %d of %d: the storage asks again", nth, requests)
		case blocks:
			if err != nil {
				require.ErrorIs(b.t, err, storage.ErrUnavailable)
				require.NotErrorIs(b.t, err, storage.ErrUncertain)
				if c.method == "Waiter.Wait" {
					continue // the marker may be taken away: its caller looks for jobs at once
				}
				require.NoError(b.t, c.call(b.ctx, s))
			}
		case writes, appends:
			if err == nil {
				break // it was lost while nothing was written yet
			}
			require.ErrorIs(b.t, err, storage.ErrUncertain, "answer %d of %d", nth, requests)
			uncertain = true
			if c.effect == appends {
				break
			}
			again := c.again
			if again == nil {
				again = c.call
			}
			if err := again(b.ctx, s); err != nil {
				require.NotNil(b.t, c.done, "answer %d of %d: %v", nth, requests, err)
				require.ErrorIs(b.t, err, c.done, "answer %d of %d", nth, requests)
			}
		}
		require.Empty(b.t, vectors.Diff(want, b.lastingState()), "answer %d of %d", nth, requests)
		require.Empty(b.t, audit.Keyspace(b.state(), "bull", audit.Looking("q")), "answer %d of %d", nth, requests)
	}
	require.Equal(b.t, c.effect == writes || c.effect == appends, uncertain, "a caller learns that something may be written")
}

// direct is a store that asks the server without the proxy.
func (b *bench) direct() *Store {
	s, err := New(b.c, Clock(b.now))
	require.NoError(b.t, err)
	return s
}
