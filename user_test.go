package bullmqgen_test

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/bullmq-gen/bullmq-gen/internal/testneed"
)

const (
	modulePath = "github.com/bullmq-gen/bullmq-gen"
	// published is the version under which users of the tests get this repository.
	published = "v0.0.0-20260101000000-0123456789ab"
)

// user is somebody with a module of his own and no other access to this
// repository than through the go command, and no network.
type user struct {
	t   *testing.T
	dir string
	env []string
}

// newUser publishes this repository and gives the user the module in an archive.
func newUser(t *testing.T, archive string) *user {
	t.Helper()
	testneed.Modules(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	u := &user{t: t, dir: filepath.Join(dir, "module")}
	proxy := filepath.Join(dir, "proxy")
	publish(t, proxy)
	downloads, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	u.env = append(os.Environ(),
		"GOPROXY=file://"+filepath.ToSlash(proxy)+",file://"+filepath.ToSlash(filepath.Join(strings.TrimSpace(string(downloads)), "cache", "download"))+",off",
		"GOMODCACHE="+filepath.Join(dir, "modules"),
		"GOFLAGS=-modcacherw -trimpath", // compiled once for all folders
		"GONOSUMDB=*", "GOSUMDB=off", "GOWORK=", "GOTOOLCHAIN=local",
	)
	files, err := txtar.ParseFile(archive)
	require.NoError(t, err)
	for _, f := range files.Files {
		writeFile(t, filepath.Join(u.dir, f.Name), string(f.Data))
	}
	return u
}

// publish makes a module proxy that has this repository.
func publish(t *testing.T, proxy string) {
	t.Helper()
	versions := filepath.Join(proxy, filepath.FromSlash(modulePath), "@v")
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	writeFile(t, filepath.Join(versions, "list"), "")
	writeFile(t, filepath.Join(versions, published+".info"), fmt.Sprintf(`{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, published))
	writeFile(t, filepath.Join(versions, published+".mod"), string(mod))
	file, err := os.Create(filepath.Join(versions, published+".zip"))
	require.NoError(t, err)
	archive := zip.NewWriter(file)
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(path, "go.mod"))
			if path != "." && (nested == nil || d.Name()[0] == '.' || d.Name() == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		w, err := archive.Create(modulePath + "@" + published + "/" + filepath.ToSlash(path))
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}))
	require.NoError(t, archive.Close())
	require.NoError(t, file.Close())
}

// goes runs the go command in a folder of the module and returns what it says.
func (u *user) goes(dir string, args ...string) string {
	u.t.Helper()
	out, err := u.tries(dir, args...)
	require.NoError(u.t, err, "go %s: %s", strings.Join(args, " "), out)
	return out
}

func (u *user) tries(dir string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = filepath.Join(u.dir, dir), u.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

const tools = modulePath + "/cmd/"

// The way of the README in a service of several packages.
func TestAServiceOfAUser(t *testing.T) {
	t.Parallel()
	notShort(t)
	u := newUser(t, "testdata/modules/Service.txtar")
	u.goes(".", "get", "-tool", tools+"bullmq-gen@"+published, tools+"bullmq-vet@"+published)
	u.goes(".", "generate", "./...")
	u.goes(".", "mod", "tidy")
	u.goes(".", "build", "-o", os.DevNull, "./cmd/shop")
	u.goes(".", "vet", "./...")
	require.Empty(t, u.goes(".", "vet", "-vettool="+strings.TrimSpace(u.goes(".", "tool", "-n", "bullmq-vet")), "./..."))
	require.Empty(t, u.goes(".", "tool", "bullmq-gen", "-check", "./..."))
	u.goes(".", "test", "./...")
	require.Equal(t, ""+
		"QUEUE   TASK    TYPE    PLACE                               OPTIONS\n"+
		"mail    letter  Letter  internal/mail/tasks/tasks.go:16     concurrency=10 group-limit=100/1m attempts=5 backoff=exponential wait=100ms jitter=0.2 dedup=10m timeout=30s keep-completed=1000 keep-failed=168h dedup:To group:Tenant\n"+
		"mail    notice  Notice  internal/mail/tasks/tasks.go:31     concurrency=10 group-limit=100/1m keep-completed=1000 keep-failed=168h\n"+
		"month   close   Close   internal/orders/tasks/orders.go:34  child pages=month/page child notice=mail/notice\n"+
		"month   page    Page    internal/orders/tasks/orders.go:47  \n"+
		"orders  place   Place   internal/orders/tasks/orders.go:13  priority:Urgency\n", u.goes(".", "tool", "bullmq-gen", "list", "./..."))

	// A mistake is told in one place and the same words by both tools.
	path := filepath.Join(u.dir, "internal", "orders", "tasks", "orders.go")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), "result=Order", "reslt=Order", 1)), 0o644))
	const told = `internal/orders/tasks/orders.go:12:28: bullmq: unknown key "reslt" in //bullmq:task; did you mean "result"?`
	for _, tool := range []string{"bullmq-gen", "bullmq-vet"} {
		out, err := u.tries(".", "tool", tool, "./...")
		require.Error(t, err)
		require.Contains(t, strings.ReplaceAll(out, u.dir+string(filepath.Separator), ""), told)
	}
	u.goes(".", "tool", "bullmq-vet", "-fix", "./...")
	require.Empty(t, u.goes(".", "tool", "bullmq-gen", "-check", "./..."))
}

// A workspace of two modules that has vendored what it needs, the generator too.
func TestAWorkspaceOfAUser(t *testing.T) {
	t.Parallel()
	notShort(t)
	u := newUser(t, "testdata/modules/Workspace.txtar")
	u.goes("jobs", "get", "-tool", tools+"bullmq-gen@"+published)
	u.goes("jobs", "generate", "./...")
	u.goes("jobs", "mod", "tidy")
	u.goes("app", "mod", "tidy")
	u.goes(".", "work", "vendor")
	u.env = append(u.env, "GOPROXY=off", "GOMODCACHE="+filepath.Join(u.dir, "nothing"))
	require.Empty(t, u.goes("jobs", "generate", "./..."))
	require.Empty(t, u.goes("jobs", "tool", "bullmq-gen", "-check", "-out", "./queue", "./..."))
	u.goes(".", "vet", "./app/...", "./jobs/...")
	u.goes(".", "test", "./app/...", "./jobs/...")
	require.Contains(t, u.goes(".", "tool", "bullmq-gen", "list", "-out", "./queue", "./jobs/..."), "pictures  shrink")
}
