package health_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/health"
)

func TestHandlerAnswersWithTheReasonsOfChecksThatDoNotPass(t *testing.T) {
	t.Parallel()
	pass := func(context.Context) error { return nil }
	for _, c := range []struct {
		checks []health.Check
		code   int
		body   string
	}{
		{nil, http.StatusOK, "ok\n"},
		{[]health.Check{pass, pass}, http.StatusOK, "ok\n"},
		{
			[]health.Check{
				func(context.Context) error { return errors.New("redis is away\nsince noon") }, pass,
				func(context.Context) error { panic("no") },
				func(context.Context) error { runtime.Goexit(); return nil },
				func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			},
			http.StatusServiceUnavailable,
			"redis is away; since noon\na health check panicked: no\na health check ended its goroutine with runtime.Goexit\ncontext deadline exceeded\n",
		},
	} {
		w := httptest.NewRecorder()
		health.Handler(c.checks...).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		require.Equal(t, c.code, w.Code)
		require.Equal(t, c.body, w.Body.String())
	}
}
