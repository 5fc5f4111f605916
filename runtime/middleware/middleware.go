// Package middleware has middleware for workers that many programs need. Each one
// is short and uses only exported API: read them as examples of your own.
package middleware

import (
	"context"
	"log/slog"
	"runtime/pprof"
	"time"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// Logging logs each attempt that ends: an attempt without an error at level Info,
// one with an error at level Warn. The line has the keys of ActiveJob.Logger, the
// duration, and the error.
func Logging() bullmq.HandleMiddleware {
	return func(next bullmq.HandleFunc) bullmq.HandleFunc {
		return func(ctx context.Context, job *bullmq.ActiveJob) error {
			start := time.Now()
			err := next(ctx, job)
			level, message := slog.LevelInfo, "job processed"
			attrs := []slog.Attr{slog.Duration("took", time.Since(start))}
			if err != nil {
				level, message = slog.LevelWarn, "attempt failed"
				attrs = append(attrs, slog.Any("error", err))
			}
			job.Logger().LogAttrs(ctx, level, message, attrs...)
			return err
		}
	}
}

// Timeout ends the context of each handler after d, with the cause
// bullmq.ErrTimeout. A task whose jobs have a timeout of their own keeps the
// shorter one.
func Timeout(d time.Duration) bullmq.HandleMiddleware {
	return func(next bullmq.HandleFunc) bullmq.HandleFunc {
		return func(ctx context.Context, job *bullmq.ActiveJob) error {
			ctx, cancel := context.WithTimeoutCause(ctx, d, bullmq.ErrTimeout)
			defer cancel()
			return next(ctx, job)
		}
	}
}

// ProfileLabels labels the goroutine of each handler with the queue and the task,
// so that profiles of the program show which tasks use processor time.
func ProfileLabels() bullmq.HandleMiddleware {
	return func(next bullmq.HandleFunc) bullmq.HandleFunc {
		return func(ctx context.Context, job *bullmq.ActiveJob) (err error) {
			pprof.Do(ctx, pprof.Labels("queue", job.Queue, "task", job.Name), func(ctx context.Context) {
				err = next(ctx, job)
			})
			return err
		}
	}
}
