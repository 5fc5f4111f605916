package testneed

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Modules makes all modules of this module's graph available in the module
// cache, also those that no package of it imports: `go mod tidy` in a user's
// module looks for them. A test that runs the go command for such a module
// calls it first, and then needs no network.
func Modules(t testing.TB) {
	t.Helper()
	if err := modules(); err != nil {
		Missing(t, "a module in the module cache", "run `make setup` once with a network: "+err.Error())
	}
}

// modules downloads what the module cache lacks, once in a test binary. It
// works on copies of go.mod and go.sum: the go command adds sums to the latter.
var modules = sync.OnceValue(func() error {
	file, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("find go.mod: %w", err)
	}
	dir, err := os.MkdirTemp("", "bullmq-modules-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	from := filepath.Dir(strings.TrimSpace(string(file)))
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	download := exec.Command("go", "mod", "download", "all")
	download.Dir, download.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := download.CombinedOutput(); err != nil {
		return fmt.Errorf("go mod download all: %w: %s", err, out)
	}
	return nil
})
