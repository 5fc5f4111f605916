package redisq

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDriverLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	driverLog{log}.Printf(context.Background(), "failed to dial after %d attempts", 1)
	require.Contains(t, out.String(), `msg="go-redis: failed to dial after 1 attempts"`)
}
