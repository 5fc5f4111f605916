package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bullmq-gen/bullmq-gen/example/gen"
	"github.com/bullmq-gen/bullmq-gen/example/tasks"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// produce adds a job for each file, and waits for what comes of them.
func produce(ctx context.Context, client *bullmq.Client, c config, out io.Writer) error {
	files, err := find(c.dir, c.most)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no files below %s", c.dir)
	}
	fmt.Fprintf(out, "%d files below %s\n", len(files), c.dir)
	if err := announce(ctx, client, out, len(files)); err != nil {
		return err
	}
	scans, err := gen.EnqueueManyScanFile(ctx, client, files)
	if err != nil {
		return err
	}
	ids := make([]string, len(scans))
	for i, h := range scans {
		ids[i] = h.ID
	}
	sum, err := gen.EnqueueSummarize(ctx, client, tasks.Summarize{Scans: ids, Wait: bullmq.MillisOf(300 * time.Millisecond)})
	if err != nil {
		return err
	}
	shown := follow(ctx, client, ids, out)
	summary, err := sum.Result(ctx)
	if err != nil {
		return err
	}
	seen := <-shown
	if err := report(ctx, client, out, summary, seen); err != nil {
		return err
	}
	return compare(ctx, client, c.dir, files, out)
}

// find lists files below a folder, without hidden folders and those of packages.
func find(dir string, most int) ([]tasks.ScanFile, error) {
	var files []tasks.ScanFile
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || len(files) == most {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && path != dir
		if d.IsDir() && (hidden || d.Name() == "node_modules" || d.Name() == "vendor") {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() || hidden {
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files = append(files, tasks.ScanFile{Path: filepath.ToSlash(rel)})
		return nil
	})
	return files, err
}

// announce adds three notices: the most urgent is said first, and one that
// repeats another is not said at all.
func announce(ctx context.Context, client *bullmq.Client, out io.Writer, n int) error {
	begin := tasks.Announce{Topic: "begin", Text: fmt.Sprintf("reading %d files", n), Urgency: 2}
	hint := tasks.Announce{Topic: "hint", Text: "one in some files fails once, and is tried again", Urgency: 1}
	if _, err := gen.EnqueueManyAnnounce(ctx, client, []tasks.Announce{begin, hint}); err != nil {
		return err
	}
	h, err := gen.EnqueueAnnounce(ctx, client, begin)
	if err == nil && h.Existing {
		fmt.Fprintf(out, "a notice about %q was added already, as job %s\n", begin.Topic, h.ID)
	}
	return err
}

// seen is what the events of a queue told about some jobs.
type seen struct{ done, failed, retried int }

// follow prints how far the jobs are, by the events of their queue, until all are finished.
func follow(ctx context.Context, client *bullmq.Client, ids []string, out io.Writer) <-chan seen {
	ours := make(map[string]bool, len(ids))
	for _, id := range ids {
		ours[id] = true
	}
	result := make(chan seen, 1)
	go func() {
		var s seen
		defer func() { result <- s }()
		for event := range client.Queue(gen.FilesQueue.Name).Events(ctx, bullmq.EventsAfter("")) {
			if event == nil || !ours[event.JobID()] {
				continue
			}
			switch event.(type) {
			case bullmq.CompletedEvent:
				s.done++
			case bullmq.FailedEvent:
				s.failed++
			case bullmq.DelayedEvent: // only retries are delayed
				s.retried++
				continue
			default:
				continue
			}
			n := s.done + s.failed
			if n%max(1, len(ids)/5) == 0 || n == len(ids) {
				fmt.Fprintf(out, "  %d of %d read, %d failed, %d tried again\n", n, len(ids), s.failed, s.retried)
			}
			if n == len(ids) {
				return
			}
		}
	}()
	return result
}

// report prints the summary, and what the queue says itself.
func report(ctx context.Context, client *bullmq.Client, out io.Writer, sum tasks.Summary, s seen) error {
	counts, err := client.Queue(gen.FilesQueue.Name).Counts(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d files, %d bytes, %d lines, %d words; %d failed, %d were tried again\n",
		sum.Files, sum.Bytes, sum.Lines, sum.Words, sum.Failed, s.retried)
	byCount := slices.SortedFunc(maps.Keys(sum.Languages), func(a, b string) int {
		if d := sum.Languages[b] - sum.Languages[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, l := range byCount {
		fmt.Fprintf(out, "  %-12s %d\n", l, sum.Languages[l])
	}
	fmt.Fprintf(out, "queue %s: %d completed, %d failed, %d waiting, %d active\n", gen.FilesQueue.Name,
		counts[bullmq.StateCompleted], counts[bullmq.StateFailed], counts[bullmq.StateWaiting], counts[bullmq.StateActive])
	return nil
}
