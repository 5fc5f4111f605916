package redisq

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

func TestKeepStep(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.take("a")
		own := storage.Lock{ID: "a", Token: "tok"}
		require.NoError(t, b.KeepStep(b.ctx, "q", own, "charge: card", []byte(`{"id":1}`)))
		require.NoError(t, b.KeepStep(b.ctx, "q", own, "mail", []byte(`null`)))
		require.NoError(t, b.KeepStep(b.ctx, "q", storage.Lock{ID: "a", Token: "0"}, "mail", []byte(`2`)))
		jobs, err := b.Jobs(b.ctx, "q", "a")
		require.NoError(t, err)
		require.Equal(t, map[string][]byte{"charge: card": []byte(`{"id":1}`), "mail": []byte("2")}, jobs[0].Steps)

		before := b.snapshot()
		other := storage.Lock{ID: "a", Token: "other"}
		require.ErrorIs(t, b.KeepStep(b.ctx, "q", other, "x", []byte("1")), storage.ErrLockMismatch)
		require.ErrorIs(t, b.KeepStep(b.ctx, "q", storage.Lock{ID: "no", Token: "tok"}, "x", []byte("1")), storage.ErrJobNotFound)
		require.ErrorContains(t, b.KeepStep(b.ctx, "q", storage.Lock{}, "", []byte("{")), "the step's result is not JSON")
		b.do("del", "bull:q:a:lock")
		require.ErrorIs(t, b.KeepStep(b.ctx, "q", own, "x", []byte("1")), storage.ErrLockLost)
		delete(before, "bull:q:a:lock")
		require.Equal(t, before, b.snapshot())
	})
}

// Steps are there when the job runs again, whatever became of the run before,
// and gone when it has completed.
func TestStepsAreKeptUntilTheJobCompletes(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		steps := func() int { return len(b.hash("q", "a")) - len(b.hash("q", "plain")) }
		for round := range 2 { // settled by itself, and among others
			b.do("flushdb")
			b.take("a", "plain")
			plain := b.hash("q", "plain")
			require.NoError(t, b.KeepStep(b.ctx, "q", storage.Lock{ID: "a", Token: "tok"}, "s", []byte("1")))
			require.Equal(t, 2, steps())
			for i := range 1100 { // more than one command takes away
				b.do("hset", "bull:q:a", fmt.Sprint("gen:step:s", i), "1")
			}
			b.settleAll(settleAt(0, settledAs(storage.RetryNow, "a")))
			taken := b.mustSettle(settleAt(1)).Jobs
			require.Len(t, taken[0].Steps, 1101)
			b.settleAll(settleAt(0, settledAs(storage.Failed, "a")))
			require.NoError(t, b.Retry(b.ctx, "q", "a", storage.RetryRequest{State: storage.StateFailed}))
			taken = b.mustSettle(settleAt(1)).Jobs
			require.Len(t, taken[0].Steps, 1101)
			done := []storage.Settlement{completed("a")}
			if round == 1 {
				done = append(done, completed("plain"))
			}
			b.settleAll(settleAt(0, done...))
			h := b.hash("q", "a")
			for f := range h {
				require.NotContains(t, f, "gen:")
			}
			require.Equal(t, `{"ok":true}`, h["returnvalue"])
			require.Equal(t, plain["data"], h["data"])
		}
	})
}
