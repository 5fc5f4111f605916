package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/bullmq-gen/bullmq-gen/example/gen"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// schedule stores what package tasks declares, removes what it no longer does,
// and prints when each schedule runs next.
func schedule(ctx context.Context, client *bullmq.Client, out io.Writer) error {
	if err := gen.EnsureSchedules(ctx, client); err != nil {
		return err
	}
	if _, err := gen.PruneSchedules(ctx, client); err != nil {
		return err
	}
	list, err := client.Queue(gen.NoticesQueue.Name).Schedules(ctx, 0, -1)
	if err != nil {
		return err
	}
	for _, s := range list {
		fmt.Fprintf(out, "schedule %s: next at %s\n", s.ID, s.Next.At.Format(time.DateTime))
	}
	return nil
}
