package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// The sample package: its tasks, and a test that adds and handles them. PARENT
// stands for the import path of the folder of both and of the generated code.
var (
	//go:embed starter_tasks.txt
	starterTasks string
	//go:embed starter_test.txt
	starterTest string
)

const nextSteps = `Wrote %[1]s and %[2]s. Next:

  go get -tool github.com/bullmq-gen/bullmq-gen/cmd/bullmq-gen
  go generate ./...
  go mod tidy
  go test ./...

The test shows how to add a job, gen.EnqueueSendWelcome(ctx, client, tasks.SendWelcome{...}),
and how to handle it. Register the handler on a worker with gen.HandleEmails(worker, mailer{}).
`

// initialize writes a sample package of tasks, with its go:generate line and a
// test, into the folder tasks below the given folder.
func initialize(args []string, stdout io.Writer) error {
	dir := "."
	switch {
	case len(args) == 1 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help"):
		fmt.Fprint(stdout, usage)
		return nil
	case len(args) > 1 || len(args) == 1 && strings.HasPrefix(args[0], "-"):
		return errors.New("init takes at most one folder; the default is the current one")
	case len(args) == 1:
		dir = args[0]
	}
	parent, err := importPath(dir)
	if err != nil {
		return err
	}
	found, _ := os.ReadDir(filepath.Join(dir, "tasks")) // it usually does not exist
	for _, f := range found {
		if filepath.Ext(f.Name()) == ".go" {
			return fmt.Errorf("%s exists already: nothing was written", filepath.ToSlash(filepath.Join(dir, "tasks", f.Name())))
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "tasks"), 0o755); err != nil {
		return err
	}
	tasks, test := filepath.Join(dir, "tasks", "tasks.go"), filepath.Join(dir, "tasks", "tasks_test.go")
	if err := os.WriteFile(tasks, []byte(starterTasks), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(test, []byte(strings.ReplaceAll(starterTest, "PARENT", parent)), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, nextSteps, filepath.ToSlash(tasks), filepath.ToSlash(test))
	return err
}

// importPath returns the import path of a folder, which may not exist yet. It is
// an error if the folder belongs to no module.
func importPath(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	below := ""
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if module := modfile.ModulePath(text); module != "" {
			return path.Join(module, below), nil
		}
		if err == nil {
			return "", fmt.Errorf("%s names no module", filepath.Join(dir, "go.mod"))
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if filepath.Dir(dir) == dir {
			return "", errors.New("no go.mod in this folder or above: run go mod init NAME first")
		}
		dir, below = filepath.Dir(dir), path.Join(filepath.Base(dir), below)
	}
}
