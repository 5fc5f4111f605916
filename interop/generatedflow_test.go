package interop

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/example/gen"
	"github.com/bullmq-gen/bullmq-gen/example/tasks"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// The flow of the example with its generated code: Go adds it and works the
// parent, Node works the children.
func TestGeneratedFlowWorkedByNode(t *testing.T) {
	t.Parallel()
	eachTypedFlow(t, func(f *typedFlow) {
		f.start(gen.CopiesQueue, func(w *bullmq.Worker) {
			gen.HandleFindCopies(w, func(_ context.Context, job *bullmq.Job[tasks.FindCopies], in gen.FindCopiesResults) (tasks.Copies, error) {
				found := tasks.Copies{Wasted: job.Data.Smallest, Sets: [][]string{{}}}
				for _, file := range in.Files {
					report, err := file.Get()
					switch {
					case err == nil:
						found.Sets[0] = append(found.Sets[0], report.Path)
					case strings.Contains(err.Error(), "no such file"): // the Node worker's words
						found.Unread++
					default:
						return found, err
					}
				}
				return found, nil
			})
		})
		flow := func() *bullmq.JobHandle[tasks.Copies] {
			h, err := gen.EnqueueFindCopies(f.ctx, f.client, tasks.FindCopies{Smallest: 7}, gen.FindCopiesFlow{Files: []gen.ScanFileNode{
				gen.FlowScanFile(tasks.ScanFile{Path: "c"}, bullmq.Attempts(1)),
				gen.FlowScanFile(tasks.ScanFile{Path: "a"}, bullmq.Attempts(1)),
				gen.FlowScanFile(tasks.ScanFile{Path: "b"}, bullmq.Attempts(1)),
			}})
			require.NoError(f, err)
			return h
		}
		files := f.on(f.node, gen.FilesQueue.Name)
		reads := files.work(script{"scan-file": once(step{"do": "echoWith", "more": Args{"sha256": "", "bytes": 0, "lines": 0, "words": 0}})}, Args{"concurrency": 3})
		read, err := flow().Result(f.ctx)
		require.NoError(f, err)
		require.Equal(f, tasks.Copies{Sets: [][]string{{"c", "a", "b"}}, Wasted: 7}, read)
		reads.close()

		files.work(script{"scan-file": once(throws("no such file"))}, nil)
		read, err = flow().Result(f.ctx)
		require.NoError(f, err)
		require.Equal(f, tasks.Copies{Sets: [][]string{{}}, Wasted: 7, Unread: 3}, read)
	})
}
