package bullmq

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// endings are the ways in which a job that waits can come to its end.
var endings = map[string]func(k *kit, id string){
	"completed": func(k *kit, id string) { k.finishByHand(id, nil) },
	"failed":    func(k *kit, id string) { k.finishByHand(id, errors.New("no")) },
	"removed": func(k *kit, id string) {
		require.NoError(k, k.client.Queue("greetings").Remove(k.ctx, id, WithChildren()))
	},
	"lost by hand": func(k *kit, id string) {
		require.NoError(k, k.server.Client(k).Del(k.ctx, "bull:greetings:"+id).Err())
	},
	"failed as stalled": func(k *kit, id string) {
		m := k.manual()
		j, err := m.Take(k.ctx)
		require.NoError(k, err)
		require.Equal(k, id, j.ID)
		require.NoError(k, k.server.Client(k).Del(k.ctx, "bull:greetings:"+id+":lock").Err())
		w := k.worker(hello, StalledCheck(10*time.Millisecond, 0))
		k.until("it failed", func() bool { return k.record(id).FailedReason != "" })
		require.NoError(k, w.Stop(k.ctx))
	},
}

// bulkEndings are those that every job of the queue comes to.
var bulkEndings = map[string]func(k *kit) error{
	"cleaned": func(k *kit) error {
		_, err := k.client.Queue("greetings").Clean(k.ctx, StateWaiting, 0, 0)
		return err
	},
	"drained":     func(k *kit) error { return k.client.Queue("greetings").Drain(k.ctx, WithDelayed()) },
	"obliterated": func(k *kit) error { return k.client.Queue("greetings").Obliterate(k.ctx, Force()) },
}

// finishByHand takes the next job, which must have the id, and ends it.
func (k *kit) finishByHand(id string, failed error) {
	k.Helper()
	m := k.manual()
	j, err := m.Take(k.ctx)
	require.NoError(k, err)
	require.Equal(k, id, j.ID)
	require.NoError(k, m.Finish(k.ctx, j, 1, failed))
}

// C021: however the job comes to its end that holds an id, the id is free.
func TestC021IDsAreFreedAtTheEnd(t *testing.T) {
	t.Parallel()
	ways := map[string]func(k *kit, id string){}
	for name, end := range endings {
		ways[name] = end
	}
	for name, end := range bulkEndings {
		ways[name] = func(k *kit, _ string) { require.NoError(k, end(k)) }
	}
	for name, end := range ways {
		for kind, opts := range map[string][]AddOption{
			"kept": nil, "not kept": {KeepCompleted(KeepNone()), KeepFailed(KeepNone())},
		} {
			if name == "failed as stalled" && kind == "not kept" {
				continue // nothing would be left to tell that it failed
			}
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				k := newKit(t, testredis.Any(t))
				opts := append([]AddOption{Deduplicate(Dedup{ID: "d"})}, opts...)
				first := k.add("first", opts...)
				require.True(t, k.add("second", opts...).Existing)
				end(k, first.ID)
				if name != "lost by hand" {
					require.Zero(t, k.server.Client(t).Exists(k.ctx, "bull:greetings:de:d").Val(), "at the end, not only at the next add")
				}
				third := k.add("third", opts...)
				require.False(t, third.Existing)
				require.JSONEq(t, `{"name":"third"}`, string(k.record(third.ID).Data))
			})
		}
	}
}

// C021: a job whose time was over does not free the id that another one holds now.
func TestC021IDsOfAnotherAreNotFreed(t *testing.T) {
	t.Parallel()
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, testredis.Any(t))
			first := k.add("first", Deduplicate(Dedup{ID: "d", TTL: time.Hour}))
			require.NoError(t, k.server.Client(t).Del(k.ctx, "bull:greetings:de:d").Err()) // as when it is over
			second := k.add("second", Delay(time.Hour), Deduplicate(Dedup{ID: "d"}))
			require.False(t, second.Existing)
			end(k, first.ID)
			third := k.add("third", Deduplicate(Dedup{ID: "d"}))
			require.Equal(t, second.ID, third.ID)
			require.True(t, third.Existing)
		})
	}
}
