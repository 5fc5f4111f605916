package bullmq

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Runner runs until its context ends. A Worker and a WorkerPool are runners.
type Runner interface {
	Run(ctx context.Context) error
}

// RunUntilSignal runs workers until the program receives an interrupt or SIGTERM,
// or until ctx ends, and then stops them as Worker.Run describes. A second signal
// ends the program immediately. If a runner returns before that, for example
// because it is not set up properly, the others are stopped too.
//
// Kubernetes kills a program 30 seconds after SIGTERM unless the pod says
// otherwise. The default grace period fits in there; see GracePeriod.
func RunUntilSignal(ctx context.Context, runners ...Runner) error {
	if len(runners) == 0 {
		return storage.Invalid("bullmq: there is nothing to run: pass a worker")
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the next signal has its default effect
	errs := make([]error, len(runners))
	var all sync.WaitGroup
	for i, r := range runners {
		all.Go(func() {
			defer stop()
			errs[i] = r.Run(ctx)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
