package redisq

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// LogDriver sends the log lines of go-redis itself to log, at debug level,
// instead of to the standard error. It prints some when a connection cannot be
// made, which this package reports anyway. That is a setting of the whole
// process: call it once, before anything uses go-redis.
func LogDriver(log *slog.Logger) { redis.SetLogger(driverLog{log}) }

type driverLog struct{ log *slog.Logger }

// Printf implements the logger of go-redis.
func (d driverLog) Printf(ctx context.Context, format string, v ...any) {
	d.log.DebugContext(ctx, "go-redis: "+fmt.Sprintf(format, v...))
}
