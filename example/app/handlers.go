package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/bullmq-gen/bullmq-gen/example/gen"
	"github.com/bullmq-gen/bullmq-gen/example/tasks"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// scanner handles the queue files. It implements gen.FilesHandler: without one
// of its methods the program does not compile.
type scanner struct {
	client *bullmq.Client
	root   string
	flaky  int
	firsts atomic.Int64 // first attempts so far
}

var errBusy = errors.New("the file is busy (made up, to show a retry)")

// ScanFile reads a file and counts what is in it.
func (s *scanner) ScanFile(ctx context.Context, job *bullmq.Job[tasks.ScanFile]) (tasks.FileReport, error) {
	path := filepath.FromSlash(job.Data.Path)
	if !filepath.IsLocal(path) {
		return tasks.FileReport{}, bullmq.Unrecoverable(fmt.Errorf("path %q leads out of the folder", job.Data.Path))
	}
	if job.Attempt == 1 && s.flaky > 0 && s.firsts.Add(1)%int64(s.flaky) == 1%int64(s.flaky) {
		return tasks.FileReport{}, errBusy
	}
	f, err := os.Open(filepath.Join(s.root, path))
	if errors.Is(err, os.ErrNotExist) {
		return tasks.FileReport{}, bullmq.Unrecoverable(err) // it will not come back
	}
	if err != nil {
		return tasks.FileReport{}, err
	}
	defer f.Close()
	report, err := scan(ctx, f)
	report.Path, report.Language = job.Data.Path, language(job.Data.Path)
	return report, err
}

// scan counts bytes, lines and words, and takes the hash.
func scan(ctx context.Context, r io.Reader) (tasks.FileReport, error) {
	var report tasks.FileReport
	hash := sha256.New()
	in := bufio.NewReaderSize(io.TeeReader(r, hash), 1<<16)
	inWord, last := false, '\n'
	for ctx.Err() == nil {
		c, size, err := in.ReadRune()
		if err == io.EOF {
			if last != '\n' {
				report.Lines++
			}
			report.SHA256 = hex.EncodeToString(hash.Sum(nil))
			return report, nil
		}
		if err != nil {
			return report, err
		}
		report.Bytes += size
		if c == '\n' {
			report.Lines++
		}
		space := unicode.IsSpace(c) || c == utf8.RuneError && size == 1
		if !space && !inWord {
			report.Words++
		}
		inWord, last = !space, c
	}
	return report, context.Cause(ctx)
}

// languages are the names of some languages, by the ending of a file's name.
var languages = map[string]string{
	".c": "C", ".css": "CSS", ".go": "Go", ".h": "C", ".html": "HTML", ".java": "Java", ".js": "JavaScript",
	".json": "JSON", ".lua": "Lua", ".md": "Markdown", ".py": "Python", ".rs": "Rust", ".sh": "Shell",
	".sql": "SQL", ".toml": "TOML", ".ts": "TypeScript", ".txt": "Text", ".yaml": "YAML", ".yml": "YAML",
}

func language(path string) string { return languages[strings.ToLower(filepath.Ext(path))] }

// Summarize adds up the results of scans. It waits for those that are not done.
func (s *scanner) Summarize(ctx context.Context, job *bullmq.Job[tasks.Summarize]) (tasks.Summary, error) {
	sum := tasks.Summary{Languages: map[string]int{}}
	for i, id := range job.Data.Scans {
		report, err := gen.ScanFileTask.JobHandle(s.client, id).Result(ctx)
		switch {
		case errors.Is(err, bullmq.ErrJobFailed) || errors.Is(err, bullmq.ErrJobNotFound):
			sum.Failed++
		case err != nil:
			return sum, err
		default:
			add(&sum, report)
		}
		if i%100 == 99 {
			if err := job.UpdateProgress(ctx, (i+1)*100/len(job.Data.Scans)); err != nil {
				return sum, err
			}
		}
	}
	return sum, nil
}

// speaker handles the queue notices.
type speaker struct{ out io.Writer }

// Announce says something.
func (s speaker) Announce(_ context.Context, job *bullmq.Job[tasks.Announce]) error {
	_, err := fmt.Fprintf(s.out, "notice (priority %d): %s\n", job.Priority, job.Data.Text)
	return err
}

// add counts a report in.
func add(sum *tasks.Summary, r tasks.FileReport) {
	sum.Files++
	sum.Bytes += r.Bytes
	sum.Lines += r.Lines
	sum.Words += r.Words
	if r.Language != "" {
		sum.Languages[r.Language]++
	}
}
