package model

import (
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// operations are what is done to queues and jobs from outside.
func (m *machine) operations() map[string]func(*rapid.T) {
	finished := []bullmq.State{bullmq.StateFailed, bullmq.StateCompleted}
	return map[string]func(*rapid.T){
		"pause": func(t *rapid.T) {
			q := m.anyQueue(t)
			q.paused = true
			require.NoError(t, m.api(q).Pause(m.ctx))
		},
		"resume": func(t *rapid.T) {
			q := m.anyQueue(t)
			q.paused = false
			require.NoError(t, m.api(q).Resume(m.ctx))
		},
		"retry": func(t *rapid.T) {
			q := m.anyQueue(t)
			id := m.anyJob(t, q, append(finished, bullmq.StateWaiting)...)
			r := bullmq.RetryRequest{
				State:     rapid.SampledFrom(finished).Draw(t, "state"),
				ResetMade: rapid.Bool().Draw(t, "reset made"), ResetStarted: rapid.Bool().Draw(t, "reset started"),
			}
			refused(t, q.retry(id, r), m.api(q).RetryWith(m.ctx, id, r))
		},
		"retry all": func(t *rapid.T) {
			q := m.anyQueue(t)
			s := rapid.SampledFrom(finished).Draw(t, "state")
			q.moveAll(s)
			require.NoError(t, m.api(q).RetryAll(m.ctx, s))
		},
		"promote": func(t *rapid.T) {
			q := m.anyQueue(t)
			id := m.anyJob(t, q, bullmq.StateDelayed, bullmq.StateActive)
			refused(t, q.promoteOne(id), m.api(q).Promote(m.ctx, id))
		},
		"promote all": func(t *rapid.T) {
			q := m.anyQueue(t)
			q.moveAll(bullmq.StateDelayed)
			require.NoError(t, m.api(q).PromoteAll(m.ctx))
		},
		"change delay": func(t *rapid.T) {
			q := m.anyQueue(t)
			id := m.anyJob(t, q, bullmq.StateDelayed, bullmq.StateWaiting)
			ms := rapid.SampledFrom([]int64{60000, 0, 1, 500000}).Draw(t, "ms")
			refused(t, q.changeDelay(id, ms), m.api(q).ChangeDelay(m.ctx, id, time.Duration(ms)*time.Millisecond))
		},
		"change priority": func(t *rapid.T) {
			q := m.anyQueue(t)
			id := m.anyJob(t, q)
			priority := rapid.IntRange(0, 3).Draw(t, "priority")
			first := rapid.Bool().Draw(t, "first")
			refused(t, q.changePriority(id, priority, first), m.api(q).ChangePriority(m.ctx, id, priority, when(first, bullmq.BeforeOthers)...))
		},
		"remove": func(t *rapid.T) {
			q := m.anyQueue(t)
			id := m.anyJob(t, q)
			deep := rapid.Bool().Draw(t, "children")
			refused(t, q.remove(id, deep), m.api(q).Remove(m.ctx, id, when(deep, bullmq.WithChildren)...))
		},
		"remove pending children": func(t *rapid.T) {
			q := m.anyQueue(t)
			id := m.anyJob(t, q)
			refused(t, q.removePending(id), m.api(q).RemovePendingChildren(m.ctx, id))
		},
		"remove child dependency": func(t *rapid.T) {
			q := m.anyQueue(t)
			id := m.anyJob(t, q)
			want, werr := q.unlink(id)
			got, err := m.api(q).RemoveChildDependency(m.ctx, id)
			refused(t, werr, err)
			require.Equal(t, want, got)
		},
		"clean": func(t *rapid.T) {
			q := m.anyQueue(t)
			s := rapid.SampledFrom([]bullmq.State{
				bullmq.StateCompleted, bullmq.StateFailed, bullmq.StateWaiting, bullmq.StateActive, bullmq.StateDelayed, bullmq.StatePrioritized,
			}).Draw(t, "state")
			grace := rapid.SampledFrom([]int64{0, 1000, 60000}).Draw(t, "grace")
			most := rapid.IntRange(0, 2).Draw(t, "most")
			ids, err := m.api(q).Clean(m.ctx, s, time.Duration(grace)*time.Millisecond, most)
			require.NoError(t, err)
			require.ElementsMatch(t, q.clean(s, m.now-grace, most), ids)
		},
		"drain": func(t *rapid.T) {
			if rapid.IntRange(0, 1).Draw(t, "seldom") > 0 {
				t.Skip("little is left after it")
			}
			q := m.anyQueue(t)
			delayed := rapid.Bool().Draw(t, "delayed")
			q.drain(delayed)
			require.NoError(t, m.api(q).Drain(m.ctx, when(delayed, bullmq.WithDelayed)...))
		},
		"obliterate": func(t *rapid.T) {
			if rapid.IntRange(0, 3).Draw(t, "seldom") > 0 {
				t.Skip("little is left after it")
			}
			q := m.anyQueue(t)
			force := rapid.Bool().Draw(t, "force")
			refused(t, q.obliterate(force), m.api(q).Obliterate(m.ctx, when(force, bullmq.Force)...))
		},
		"set global concurrency": func(t *rapid.T) {
			q := m.anyQueue(t)
			q.concurrency = rapid.SampledFrom([]int{1, 2, 0, 3}).Draw(t, "n")
			require.NoError(t, m.api(q).SetGlobalConcurrency(m.ctx, q.concurrency))
		},
		"set global rate limit": func(t *rapid.T) {
			q := m.anyQueue(t)
			q.limit = rapid.SampledFrom([]bullmq.RateLimit{{}, {Max: 1, Per: time.Minute}, {Max: 2, Per: 10 * time.Minute}}).Draw(t, "limit")
			require.NoError(t, m.api(q).SetGlobalRateLimit(m.ctx, q.limit))
		},
		"rate limit": func(t *rapid.T) {
			q := m.anyQueue(t)
			ms := rapid.SampledFrom([]int64{0, 60000}).Draw(t, "ms")
			if ms == 0 {
				q.used, q.until = 0, 0
			} else {
				q.forbid(ms)
			}
			require.NoError(t, m.api(q).RateLimit(m.ctx, time.Duration(ms)*time.Millisecond))
		},
		"remove dedup key": func(t *rapid.T) {
			q := m.anyQueue(t)
			id := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "dedup id")
			_, held := q.held[id]
			delete(q.held, id)
			got, err := m.api(q).RemoveDedupKey(m.ctx, id)
			require.NoError(t, err)
			require.Equal(t, held, got)
		},
		"remove orphans": func(t *rapid.T) {
			n, err := m.api(m.anyQueue(t)).RemoveOrphans(m.ctx, 0)
			require.NoError(t, err)
			require.Zero(t, n, "there are none")
		},
	}
}

// when is a list of one option if a flag is set.
func when[O any](set bool, option func() O) []O {
	if !set {
		return nil
	}
	return []O{option()}
}
