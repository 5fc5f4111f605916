package engine

import (
	"context"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/lanes"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
)

// LookNow is sent to workers in place of the id of a cancelled job, and cannot be
// one. A limit of the queue has changed: workers that wait for its end look
// immediately.
const LookNow = "0"

// listenForCancel cancels jobs that other processes name, until ctx ends.
func (e *Engine) listenForCancel(ctx context.Context) {
	var back outage.Backoff
	cursor := ""
	for ctx.Err() == nil {
		ids, next, err := e.Store.Cancelled(ctx, e.Queue, cursor, lanes.MaxWait)
		if err != nil {
			if ctx.Err() == nil {
				e.outage.Failed(outage.ListenToCancels, err)
			}
			back.Wait(ctx)
			continue
		}
		back.Reset()
		e.outage.Succeeded(outage.ListenToCancels)
		cursor = next
		for _, id := range ids {
			if id == LookNow {
				e.lanes.Nudge()
				continue
			}
			e.Cancel(id)
		}
	}
}
