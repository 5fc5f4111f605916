// Package health serves the state of a program's workers and clients to
// orchestrators such as Kubernetes.
//
//	mux.Handle("/livez", health.Handler())
//	mux.Handle("/readyz", health.Handler(client.Ping, worker.Ready))
//
// A liveness probe without checks reports that the program serves requests. Do not
// let it fail when Redis is away: a restart does not bring Redis back, and workers
// wait for it.
package health

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
)

// Check returns nil if a part of the program can do its work, and otherwise why
// not. Client.Ping and Worker.Ready are checks.
type Check func(ctx context.Context) error

// timeout is how long all checks of a request may take together. Kubernetes waits
// for a second by default.
const timeout = 900 * time.Millisecond

// Handler answers 200 and "ok" if all checks pass, and 503 with a line for each
// check that does not. The checks of a request run side by side, for at most 900
// milliseconds.
func Handler(checks ...Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		if failed := run(ctx, checks); len(failed) > 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintln(w, strings.Join(failed, "\n"))
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
}

// run returns the reasons of the checks that do not pass, in the order of the
// checks.
func run(ctx context.Context, checks []Check) []string {
	errs := make([]error, len(checks))
	var all sync.WaitGroup
	for i, check := range checks {
		all.Go(func() {
			errs[i] = guard.Apart("a health check", func() error { return check(ctx) })
		})
	}
	all.Wait()
	var failed []string
	for _, err := range errs {
		if err != nil {
			failed = append(failed, strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	return failed
}
