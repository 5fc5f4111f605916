package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Where a task is declared and described is nobody's business but the Go
// compiler's; what it is called on the wire is.
func TestAgainstAHistoryOfMoves(t *testing.T) {
	t.Parallel()
	repository := t.TempDir()
	dir := filepath.Join(repository, "svc")
	write(t, dir, "go.mod", "module example.com/app\n\ngo 1.26.0\n")
	write(t, dir, "tasks/tasks.go", "package tasks\n\n//bullmq:queue concurrency=3\nconst Mail = \"mail\"\n\n//bullmq:task mail/send result=Sent\ntype Send struct {\n\tTo string `json:\"to\"`\n}\n\ntype Sent struct{ ID string }\n")
	write(t, dir, "jobs/jobs.go", "package jobs\n\n//bullmq:task jobs/do\ntype Do struct{ A string }\n")
	git(t, repository, "init", "-q", "-b", "main")
	commit := func(args ...string) {
		code, _, stderr := start(t, dir, append(args, "./...")...)
		require.Zero(t, code, stderr)
		git(t, repository, "add", "-A")
		git(t, repository, "commit", "-q", "-m", "change")
	}
	commit()
	git(t, repository, "tag", "first")
	replace := func(file, old, new string) {
		text := read(t, dir, file)
		require.Contains(t, text, old)
		write(t, dir, file, strings.ReplaceAll(text, old, new))
	}
	out := []string{}
	same := func(what string, folders ...string) {
		t.Helper()
		for _, folder := range append(folders, ".") {
			from := filepath.Join(dir, folder)
			code, _, stderr := start(t, from, append(append([]string{"-against", "first"}, out...), "./...")...)
			require.Zero(t, code, "%s: %s", what, stderr)
			require.NotContains(t, stderr, "breaking", what)
			require.NotContains(t, stderr, "is new", what)
		}
	}

	git(t, repository, "mv", "svc/tasks", "svc/letters")
	replace("letters/tasks.go", "package tasks", "package letters")
	same("the package was moved, and nothing generated yet")
	commit()
	same("the package was moved", "jobs")

	git(t, repository, "mv", "svc", "service")
	dir = filepath.Join(repository, "service")
	replace("go.mod", "example.com/app", "example.com/other")
	commit()
	same("the module was moved and renamed", "jobs")

	out = []string{"-out", "../queue"}
	git(t, repository, "mv", "service/gen", "service/queue")
	commit(out...)
	same("the output was moved", "jobs")

	require.NoError(t, os.Remove(filepath.Join(dir, "letters", "tasks.go")))
	write(t, dir, "jobs/mail.go", "package jobs\n\n//bullmq:queue concurrency=3\nconst Mail = \"mail\"\n\n//bullmq:task mail/send result=Sent\ntype Send struct {\n\tTo string `json:\"to\"`\n}\n\ntype Sent struct{ ID string }\n")
	commit(out...)
	same("the queue was moved to another package", "jobs")

	// A breaking change is seen from everywhere.
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	replace("jobs/mail.go", "To string `json:\"to\"`", "To int `json:\"to\"`")
	for _, from := range []string{dir, filepath.Join(dir, "jobs"), link, filepath.Join(link, "jobs")} {
		code, _, stderr := start(t, from, append(append([]string{"-against", "first"}, out...), "./...")...)
		require.Equal(t, failed, code, from+stderr)
		require.Contains(t, stderr, "breaking: mail/send: data.to was string and is integer now")
	}
	git(t, repository, "checkout", "-q", "--", ".")

	// What others did on a branch that is ahead is no change of this one.
	git(t, repository, "checkout", "-q", "-b", "feature")
	write(t, dir, "jobs/more.go", "package jobs\n\n//bullmq:task jobs/more\ntype More struct{ A int }\n")
	commit(out...)
	git(t, repository, "checkout", "-q", "main")
	write(t, dir, "jobs/less.go", "package jobs\n\n//bullmq:task jobs/less\ntype Less struct{ A int }\n")
	commit(out...)
	git(t, repository, "checkout", "-q", "feature")
	code, _, stderr := start(t, dir, append(append([]string{"-against", "main"}, out...), "./...")...)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "safe: jobs/more: the task is new")
	require.NotContains(t, stderr, "jobs/less")

	// A history without a common commit cannot be compared.
	git(t, repository, "checkout", "-q", "--orphan", "alone")
	git(t, repository, "commit", "-q", "-m", "alone")
	code, _, stderr = start(t, dir, "-against", "main", "./...")
	require.Equal(t, trouble, code)
	require.Contains(t, stderr, "fetch more of the history")
}

// Two services of one repository may have tasks of one name. Each is compared
// with itself.
func TestAgainstWithTasksOfOneNameInTwoServices(t *testing.T) {
	t.Parallel()
	repository := t.TempDir()
	for _, name := range []string{"a", "b"} {
		dir := filepath.Join(repository, name)
		write(t, dir, "go.mod", "module example.com/"+name+"\n\ngo 1.26.0\n")
		write(t, dir, "tasks/tasks.go", "package tasks\n\n//bullmq:task q/t\ntype T struct{ Of"+strings.ToUpper(name)+" string }\n")
		code, _, stderr := start(t, dir, "./...")
		require.Zero(t, code, stderr)
	}
	git(t, repository, "init", "-q")
	git(t, repository, "add", "-A")
	git(t, repository, "commit", "-q", "-m", "tasks")
	for _, name := range []string{"a", "b"} {
		code, _, stderr := start(t, filepath.Join(repository, name), "-against", "HEAD", "./...")
		require.Zero(t, code, stderr)
		require.Empty(t, stderr)
	}
	write(t, filepath.Join(repository, "b"), "tasks/tasks.go", "package tasks\n\n//bullmq:task q/t\ntype T struct{ OfA string }\n")
	code, _, stderr := start(t, filepath.Join(repository, "b"), "-against", "HEAD", "./...")
	require.Equal(t, failed, code)
	require.Contains(t, stderr, "data.OfB is gone")
}
