package runner

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/ledger"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	now := time.UnixMilli(1700000000000)
	soon := func(*Job, error) (time.Duration, error) { return time.Second, nil }
	tests := []struct {
		name string
		o    Policy
		rec  storage.Record
		e    ending
		want storage.Settlement
	}{
		{"completed", Policy{KeepCompleted: storage.Keep{Count: 3}}, storage.Record{}, ending{value: []byte("1")},
			storage.Settlement{Kind: storage.Completed, Value: []byte("1"), Keep: storage.Keep{Count: 3}}},
		{"the only attempt fails", Policy{KeepFailed: storage.Keep{Remove: true}}, storage.Record{}, ending{err: boom},
			storage.Settlement{Kind: storage.Failed, Reason: "boom", Stack: []byte(`["boom"]`), Keep: storage.Keep{Remove: true}}},
		{"one attempt is left", Policy{Attempts: 2, LIFO: true}, storage.Record{}, ending{err: boom},
			storage.Settlement{Kind: storage.RetryNow, LIFO: true, Reason: "boom", Stack: []byte(`["boom"]`)}},
		{"one attempt is left, with backoff", Policy{Attempts: 2}, storage.Record{}, ending{err: boom, delay: soon},
			storage.Settlement{Kind: storage.RetryLater, Delay: time.Second, Reason: "boom", Stack: []byte(`["boom"]`)}},
		{"no attempt is left", Policy{Attempts: 2}, storage.Record{AttemptsMade: 1, Stack: []byte(`["first"]`)}, ending{err: boom, delay: soon},
			storage.Settlement{Kind: storage.Failed, Attempts: 2, Reason: "boom", Stack: []byte(`["first","boom"]`)}},
		{"unrecoverable, wrapped", Policy{Attempts: 9}, storage.Record{}, ending{err: fmt.Errorf("x: %w", Unrecoverable(boom))},
			storage.Settlement{Kind: storage.Failed, Attempts: 9, Reason: "x: boom", Stack: []byte(`["x: boom"]`)}},
		{"too many starts", Policy{Attempts: 9}, storage.Record{AttemptsStarted: 2}, ending{err: boom, maxStarts: 2},
			storage.Settlement{Kind: storage.Failed, Attempts: 9, Reason: "boom", Stack: []byte(`["boom"]`)}},
		{"the strategy says no", Policy{Attempts: 9}, storage.Record{}, ending{err: boom, delay: func(*Job, error) (time.Duration, error) { return -1, nil }},
			storage.Settlement{Kind: storage.Failed, Attempts: 9, Reason: "boom", Stack: []byte(`["boom"]`)}},
		{"no such strategy", Policy{Attempts: 9}, storage.Record{}, ending{err: boom, delay: func(*Job, error) (time.Duration, error) { return 0, errors.New("none") }},
			storage.Settlement{Kind: storage.Failed, Attempts: 9, Reason: "boom (not retried: none)", Stack: []byte(`["boom"]`)}},
		{"delayed until", Policy{}, storage.Record{}, ending{err: &Deferral{Kind: storage.DelayedUntil, Until: now.Add(time.Minute)}},
			storage.Settlement{Kind: storage.DelayedUntil, Delay: time.Minute}},
		{"delayed until a time that passed", Policy{}, storage.Record{}, ending{err: &Deferral{Kind: storage.DelayedUntil, Until: now.Add(-time.Minute)}},
			storage.Settlement{Kind: storage.DelayedUntil}},
		{"put back", Policy{}, storage.Record{}, ending{err: fmt.Errorf("later: %w", &Deferral{Kind: storage.BackToWait})}, storage.Settlement{Kind: storage.BackToWait}},
		{"rate limited", Policy{}, storage.Record{}, ending{err: &Deferral{Kind: storage.BackToWait, RateLimit: time.Second}}, storage.Settlement{Kind: storage.BackToWait}},
		{"waits for children", Policy{}, storage.Record{}, ending{err: &Deferral{Kind: storage.WaitForChildren}}, storage.Settlement{Kind: storage.WaitForChildren}},
		{"cut off by a shutdown", Policy{}, storage.Record{}, ending{err: context.Canceled, cause: ErrShutdown}, storage.Settlement{Kind: storage.BackToWait}},
		{"cut off, by the cause", Policy{}, storage.Record{}, ending{err: ErrShutdown, cause: ErrShutdown}, storage.Settlement{Kind: storage.BackToWait}},
		{"cut off, wrapped", Policy{}, storage.Record{}, ending{err: &url.Error{Op: "Get", URL: "http://x", Err: ErrShutdown}, cause: ErrShutdown}, storage.Settlement{Kind: storage.BackToWait}},
		{"cut off, and a driver hides why", Policy{}, storage.Record{}, ending{err: boom, cause: ErrShutdown}, storage.Settlement{Kind: storage.BackToWait}},
		{"failed during a shutdown, before the context ended", Policy{}, storage.Record{}, ending{err: boom},
			storage.Settlement{Kind: storage.Failed, Reason: "boom", Stack: []byte(`["boom"]`)}},
		{"unrecoverable during a shutdown", Policy{}, storage.Record{}, ending{err: Unrecoverable(boom), cause: ErrShutdown},
			storage.Settlement{Kind: storage.Failed, Reason: "boom", Stack: []byte(`["boom"]`)}},
		{"a panic during a shutdown", Policy{}, storage.Record{}, ending{err: &guard.Panic{Value: "x"}, cause: ErrShutdown},
			storage.Settlement{Kind: storage.Failed, Reason: "panic: x", Stack: []byte(`["panic: x"]`)}},
		{"an error that wraps the cause of another context", Policy{}, storage.Record{}, ending{err: ErrShutdown},
			storage.Settlement{Kind: storage.Failed, Reason: ErrShutdown.Error(), Stack: []byte(`["` + ErrShutdown.Error() + `"]`)}},
		{"the storage did not answer", Policy{}, storage.Record{}, ending{err: fmt.Errorf("read: %w", &SetBack{Err: boom})},
			storage.Settlement{Kind: storage.DelayedUntil, Delay: SetBackFor}},
		{"the storage did not answer, and starts count", Policy{}, storage.Record{}, ending{err: &SetBack{Err: boom, Unstarted: true}, maxStarts: 3},
			storage.Settlement{Kind: storage.BackToWait, Unstarted: true}},
		{"the storage did not answer before a shutdown", Policy{}, storage.Record{}, ending{err: &SetBack{Err: boom, Unstarted: true}, cause: ErrShutdown},
			storage.Settlement{Kind: storage.BackToWait, Unstarted: true}},
		{"the storage did not answer, and the job was cancelled", Policy{}, storage.Record{}, ending{err: &SetBack{Err: boom}, cause: ErrCancelled},
			storage.Settlement{Kind: storage.Failed, Reason: "boom", Stack: []byte(`["boom"]`)}},
		{"timed out", Policy{Attempts: 2}, storage.Record{}, ending{err: fmt.Errorf("query: %w", context.DeadlineExceeded), cause: ErrTimeout},
			storage.Settlement{Kind: storage.RetryNow, Reason: ErrTimeout.Error(), Stack: []byte(`["` + ErrTimeout.Error() + `"]`)}},
		{"cancelled by its id", Policy{Attempts: 2}, storage.Record{}, ending{err: context.Canceled, cause: ErrCancelled},
			storage.Settlement{Kind: storage.Failed, Attempts: 2, Reason: ErrCancelled.Error(), Stack: []byte(`["` + ErrCancelled.Error() + `"]`)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.rec.ID = "1"
			tt.e.job = &Job{Job: ledger.Job{Record: &tt.rec, Token: "t"}, Policy: &tt.o}
			tt.e.now, tt.e.setBack = now, SetBackFor
			if tt.e.delay == nil {
				tt.e.delay = func(*Job, error) (time.Duration, error) { return 0, nil }
			}
			tt.want.ID, tt.want.Token = "1", "t"
			require.Equal(t, tt.want, decide(&tt.e))
		})
	}
}

func TestStacksAreKeptOldestFirst(t *testing.T) {
	t.Parallel()
	zero, two, negative := 0, 2, -1
	require.JSONEq(t, `["a","b","c"]`, string(appendStack([]byte(`["a","b"]`), "c", nil)))
	require.JSONEq(t, `["b","c"]`, string(appendStack([]byte(`["a","b"]`), "c", &two)))
	require.JSONEq(t, `[]`, string(appendStack(nil, "a", &negative)), "one that a peer stored")
	require.JSONEq(t, `[]`, string(appendStack([]byte(`["a","b"]`), "c", &zero)))
	require.JSONEq(t, `["c"]`, string(appendStack([]byte(`oops`), "c", nil)))
	require.JSONEq(t, `["line\n\t\"x\""]`, string(appendStack(nil, "line\n\t\"x\"", nil)))
}
