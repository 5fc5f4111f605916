package main

import (
	"encoding/json"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	bullmqgen "github.com/bullmq-gen/bullmq-gen"
)

// edited is goodTasks after a change that old jobs do not survive.
var edited = strings.Replace(goodTasks, "A string", "B int `json:\"b\"`\n\tA string", 1)

func TestCheckSaysWhatAChangeMeans(t *testing.T) {
	t.Parallel()
	dir := module(t, goodTasks)
	code, _, stderr := start(t, dir, "./...")
	require.Zero(t, code, stderr)
	write(t, dir, "tasks/tasks.go", edited)
	code, _, stderr = start(t, dir, "-check", "./...")
	require.Equal(t, failed, code)
	require.Contains(t, stderr, "breaking: jobs/do: data.b is new and required, and jobs that are in the queue lack it: add omitempty")
	write(t, dir, "tasks/tasks.go", strings.Replace(goodTasks, "jobs/do", "jobs/done", 1))
	code, _, stderr = start(t, dir, "-check", "./...")
	require.Equal(t, failed, code)
	require.Contains(t, stderr, "needs alias: jobs/do: is done now")
	require.Contains(t, stderr, "add //bullmq:alias do to Do")

	write(t, dir, "tasks/tasks.go", edited)
	code, stdout, _ := start(t, dir, "-json", "-check", "./...")
	require.Equal(t, failed, code)
	var got struct{ Changes []bullmqgen.Change }
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.Len(t, got.Changes, 1)
	require.Equal(t, bullmqgen.Breaking, got.Changes[0].Level)

	// A manifest with a conflict is stale, and no trouble.
	write(t, dir, "gen/bullmq.manifest.json", strings.Replace(read(t, dir, "gen/bullmq.manifest.json"), "[", "<<<<<<< [", 1))
	code, _, stderr = start(t, dir, "-check", "./...")
	require.Equal(t, failed, code)
	require.Contains(t, stderr, "gen/bullmq.manifest.json: stale")
}

// A run that changes the manifest says once what old jobs do not survive.
func TestGenerateSaysWhatIsNotSafe(t *testing.T) {
	t.Parallel()
	dir := module(t, goodTasks)
	code, _, stderr := start(t, dir, "./...")
	require.Zero(t, code, stderr)
	write(t, dir, "tasks/tasks.go", edited)
	code, stdout, stderr := start(t, dir, "./...")
	require.Zero(t, code)
	require.Empty(t, stdout)
	require.True(t, strings.HasPrefix(stderr, "breaking: jobs/do: data.b is new and required"), stderr)
	require.Equal(t, 1, strings.Count(stderr, "\n"))
	code, _, stderr = start(t, dir, "./...")
	require.Zero(t, code)
	require.Empty(t, stderr)
	write(t, dir, "tasks/tasks.go", strings.Replace(edited, "json:\"b\"", "json:\"b,omitempty\"", 1))
	code, _, stderr = start(t, dir, "./...")
	require.Zero(t, code)
	require.Empty(t, stderr, "a safe change")
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false", "-c", "core.hooksPath=" + os.DevNull}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

func TestAgainstARevision(t *testing.T) {
	t.Parallel()
	repository := t.TempDir()
	dir := filepath.Join(repository, "service") // the module need not be the repository's root
	write(t, dir, "go.mod", "module example.com/app\n\ngo 1.26.0\n")
	write(t, dir, "tasks/tasks.go", goodTasks)
	git(t, repository, "init", "-q")
	git(t, repository, "commit", "-q", "--allow-empty", "-m", "empty")
	code, _, stderr := start(t, dir, "./...")
	require.Zero(t, code, stderr)
	git(t, repository, "add", ".")
	git(t, repository, "commit", "-q", "-m", "tasks")

	write(t, dir, "tasks/tasks.go", edited)
	code, _, stderr = start(t, dir, "-against", "HEAD", "./...")
	require.Equal(t, failed, code)
	require.Contains(t, stderr, "breaking: jobs/do: data.b")
	require.NotContains(t, read(t, dir, "gen/bullmq.manifest.json"), `"b"`, "nothing is written")

	// Generated or not, what counts is the revision.
	code, _, stderr = start(t, dir, "./...")
	require.Zero(t, code, stderr)
	code, _, stderr = start(t, dir, "-check", "-against", "HEAD", "./...")
	require.Equal(t, failed, code)
	require.Contains(t, stderr, "breaking: jobs/do: data.b")
	code, _, stderr = start(t, filepath.Join(dir, "tasks"), "-against", "HEAD")
	require.Equal(t, failed, code)
	require.Contains(t, stderr, "breaking: jobs/do: data.b")
	code, _, stderr = start(t, dir, "-against", "HEAD^", "./...")
	require.Zero(t, code, stderr)

	write(t, dir, "tasks/tasks.go", strings.Replace(edited, "json:\"b\"", "json:\"b,omitempty\"", 1))
	code, _, stderr = start(t, dir, "-against", "HEAD", "./...")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "safe: jobs/do: data.b is new and optional")

	// All is gone, the manifest too.
	write(t, dir, "tasks/tasks.go", "package tasks\n")
	code, _, stderr = start(t, dir, "./...")
	require.Zero(t, code, stderr)
	code, _, stderr = start(t, dir, "-against", "HEAD", "./...")
	require.Equal(t, failed, code)
	require.Contains(t, stderr, "breaking: jobs/do: is gone")

	for _, revision := range []string{"nothing", "--help", "", " "} {
		code, _, stderr = start(t, dir, "-against="+revision, "./...")
		require.Equal(t, trouble, code)
		require.Contains(t, stderr, revision)
		require.Equal(t, revision == "nothing", strings.Contains(stderr, "fetch it first"))
	}
	code, _, stderr = start(t, module(t, goodTasks), "-against", "HEAD", "./...")
	require.Equal(t, trouble, code)
	require.Contains(t, stderr, "not a git repository")
}

// Messages of go generate name files from the root of the module: its user is not
// in the folder of the package.
func TestMessagesOfGoGenerateHaveTheFolder(t *testing.T) {
	t.Parallel()
	dir := module(t, "package tasks\n\n//bullmq:task q\ntype T struct{}\n")
	cmd := exec.Command(binary)
	cmd.Dir, cmd.Env = filepath.Join(dir, "tasks"), append(os.Environ(), "GOFILE=tasks.go", "GOPACKAGE=tasks", "GOLINE=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "tasks/tasks.go:3:15: bullmq: ")
	code, _, stderr := start(t, filepath.Join(dir, "tasks"))
	require.Equal(t, failed, code)
	require.True(t, strings.HasPrefix(stderr, "tasks.go:3:15: bullmq: "), stderr)
}

func TestList(t *testing.T) {
	t.Parallel()
	dir := module(t, goodTasks+"\n//bullmq:queue concurrency=3 limit=10/90s group=To\nconst Mail = \"mail\"\n\n"+
		"// Send sends.\n//\n//bullmq:task mail/send lifo timeout=1h keep-failed=100,1h\n//bullmq:retry attempts=3 backoff=exponential:1500ms jitter=0.2 max=1m\n//bullmq:dedup ttl=10m extend\n//bullmq:alias old\ntype Send struct {\n\tTo string `bullmq:\"dedup\"`\n}\n")
	code, stdout, stderr := start(t, dir, "list")
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	require.Equal(t, ""+
		"QUEUE  TASK  TYPE  PLACE              OPTIONS\n"+
		"jobs   do    Do    tasks/tasks.go:6   \n"+
		"mail   send  Send  tasks/tasks.go:19  concurrency=3 group-limit=10/1m30s attempts=3 backoff=exponential wait=1.5s jitter=0.2 max=1m dedup=10m,extend lifo timeout=1h keep-failed=100,1h dedup:To group:To alias=old\n", stdout)
	require.NoDirExists(t, filepath.Join(dir, "gen"))
	write(t, dir, "main.go", "package main\n")
	code, _, stderr = start(t, dir)
	require.Zero(t, code)
	require.Contains(t, stderr, "no //bullmq:task and no //bullmq:queue in .; ./... takes in the packages below")
	code, stdout, stderr = start(t, dir, "list", "-json", "./...")
	require.Zero(t, code, stderr)
	var got struct{ Tasks []bullmqgen.Listed }
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.Len(t, got.Tasks, 2)
	require.Equal(t, bullmqgen.Listed{Queue: "jobs", Name: "do", Type: "Do", File: "tasks/tasks.go", Line: 6}, got.Tasks[0])
	write(t, dir, "tasks/tasks.go", "package tasks\n\n//bullmq:task q\ntype T struct{}\n")
	code, stdout, stderr = start(t, dir, "list", "./...")
	require.Equal(t, failed, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "tasks/tasks.go:3:15: bullmq: ")
	code, _, stderr = start(t, dir, "list", "-manifest=false", "./...")
	require.Equal(t, trouble, code)
	require.Contains(t, stderr, "leave -manifest=false out")
}

func TestInit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	code, _, stderr := start(t, dir, "init")
	require.Equal(t, trouble, code)
	require.Contains(t, stderr, "go mod init")
	write(t, dir, "go.mod", "go 1.26.0\n")
	code, _, stderr = start(t, dir, "init")
	require.Equal(t, trouble, code)
	require.Contains(t, stderr, "names no module")
	useThisRepository(t, dir)
	for folder, args := range map[string][]string{"svc/mail/": {"init", "svc/mail"}, "": {"init"}} {
		code, stdout, stderr := start(t, dir, args...)
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, "Wrote "+folder+"tasks/tasks.go and "+folder+"tasks/tasks_test.go")
		require.Contains(t, stdout, "go generate ./...")
	}
	write(t, dir, "svc[1]/tasks/mine.go", "package tasks\n")
	for _, args := range [][]string{{"init", "svc/mail"}, {"init", "svc[1]"}, {"init", "a", "b"}, {"init", "-x"}} {
		code, _, _ = start(t, dir, args...)
		require.Equal(t, trouble, code, args)
	}
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "svc[1]"))) // no package of a program
	runGo(t, dir, "generate", "-mod=mod", "./...")
	require.Equal(t, []string{"bullmq.manifest.json", "tasks.gen.d.ts", "tasks.gen.go", "tasks.gen.js"}, files(t, dir, "svc/mail/gen"))
	require.Contains(t, read(t, dir, "svc/mail/gen/tasks.gen.go"), "func HandleEmails(")
	for _, file := range []string{"tasks/tasks.go", "tasks/tasks_test.go"} {
		text := read(t, dir, "svc/mail/"+file)
		tidy, err := format.Source([]byte(text))
		require.NoError(t, err)
		require.Equal(t, string(tidy), text)
	}
	_, page, found := strings.Cut(read(t, "../..", "docs/testing.md"), "```go\n")
	require.True(t, found)
	page, _, _ = strings.Cut(page, "```")
	write(t, dir, "tasks/page_test.go", page)
	runGo(t, dir, "test", "-mod=mod", "./...") // with go vet
}
