package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/bullmq-gen/bullmq-gen/example/gen"
	"github.com/bullmq-gen/bullmq-gen/example/tasks"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// compare adds a flow: a job that waits for scans of all files that may be
// copies of others. It prints what came of it.
func compare(ctx context.Context, client *bullmq.Client, dir string, files []tasks.ScanFile, out io.Writer) error {
	alike := ofOneSize(dir, files)
	if len(alike) == 0 {
		return nil
	}
	h, err := gen.EnqueueFindCopies(ctx, client, tasks.FindCopies{Smallest: 1}, gen.FindCopiesFlow{Files: alike})
	if err != nil {
		return err
	}
	found, err := h.Result(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d files are as large as another; sets of copies: %d, with %d bytes to spare\n", len(alike), len(found.Sets), found.Wasted)
	for _, set := range found.Sets[:min(3, len(found.Sets))] {
		fmt.Fprintf(out, "  %s is there %d times\n", set[0], len(set))
	}
	return nil
}

// ofOneSize makes scans of the files that are as large as another one. They are
// added with the job that waits for them.
func ofOneSize(dir string, files []tasks.ScanFile) []gen.ScanFileNode {
	bySize := map[int64][]tasks.ScanFile{}
	for _, f := range files {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err == nil { // else it has gone meanwhile
			bySize[info.Size()] = append(bySize[info.Size()], f)
		}
	}
	var scans []gen.ScanFileNode
	for _, size := range slices.Sorted(maps.Keys(bySize)) {
		for _, f := range bySize[size] {
			if len(bySize[size]) > 1 {
				scans = append(scans, gen.FlowScanFile(f))
			}
		}
	}
	return scans
}

// librarian handles the queue copies.
type librarian struct{}

// FindCopies puts files of one hash together. It runs when all scans are done.
func (librarian) FindCopies(_ context.Context, job *bullmq.Job[tasks.FindCopies], in gen.FindCopiesResults) (tasks.Copies, error) {
	var found tasks.Copies
	byHash, size := map[string][]string{}, map[string]int{}
	for _, file := range in.Files {
		report, err := file.Get()
		switch {
		case err != nil:
			found.Unread++
		case report.Bytes >= job.Data.Smallest:
			byHash[report.SHA256] = append(byHash[report.SHA256], report.Path)
			size[report.Path] = report.Bytes
		}
	}
	waste := func(set []string) int { return (len(set) - 1) * size[set[0]] }
	for _, set := range byHash {
		if len(set) > 1 {
			found.Sets = append(found.Sets, set)
			found.Wasted += waste(set)
		}
	}
	slices.SortFunc(found.Sets, func(a, b []string) int {
		return cmp.Or(cmp.Compare(waste(b), waste(a)), slices.Compare(a, b))
	})
	return found, nil
}
