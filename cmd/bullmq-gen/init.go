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

// What a package begins with: its tasks, and a test that adds and handles them.
// PARENT is the import path of the folder that both are in, and the generated code.
var (
	//go:embed starter_tasks.txt
	starterTasks string
	//go:embed starter_test.txt
	starterTest string
)

const nextSteps = `%[1]s and %[2]s are written. Now:

  go get -tool github.com/bullmq-gen/bullmq-gen/cmd/bullmq-gen
  go generate ./...
  go mod tidy
  go test ./...

The test has what to go on with: gen.EnqueueSendWelcome(ctx, client, tasks.SendWelcome{...})
adds a job, and a worker runs the handler by gen.HandleEmails(worker, mailer{}).
`

// initialize writes a package of tasks to begin with, with the line that
// generates code for it and a test, into the folder tasks of the one given.
func initialize(args []string, stdout io.Writer) error {
	dir := "."
	switch {
	case len(args) == 1 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help"):
		fmt.Fprint(stdout, usage)
		return nil
	case len(args) > 1 || len(args) == 1 && strings.HasPrefix(args[0], "-"):
		return errors.New("init takes one folder, which is the current one by default")
	case len(args) == 1:
		dir = args[0]
	}
	parent, err := importPath(dir)
	if err != nil {
		return err
	}
	found, _ := os.ReadDir(filepath.Join(dir, "tasks")) // most often it is not there
	for _, f := range found {
		if filepath.Ext(f.Name()) == ".go" {
			return fmt.Errorf("%s is there already: nothing is written", filepath.ToSlash(filepath.Join(dir, "tasks", f.Name())))
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

// importPath is that of a package in a folder, which may not be there yet. A
// folder that belongs to no module is an error.
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
			return "", fmt.Errorf("%s has no line that names the module", filepath.Join(dir, "go.mod"))
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if filepath.Dir(dir) == dir {
			return "", errors.New("there is no go.mod here or above: run go mod init NAME first")
		}
		dir, below = filepath.Dir(dir), path.Join(filepath.Base(dir), below)
	}
}
