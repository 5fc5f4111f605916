package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed starter.go.txt
var starter string

const nextSteps = `%[1]s is written. Now:

  go get -tool github.com/bullmq-gen/bullmq-gen/cmd/bullmq-gen
  go generate ./...
  go mod tidy

Then add jobs with gen.EnqueueSendWelcome(ctx, client, tasks.SendWelcome{...}),
and handle them with gen.HandleEmails(worker, handler).
`

// initialize writes a package of tasks to begin with, with the line that
// generates code for it, into the folder tasks of the one given.
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
	if err := inModule(dir); err != nil {
		return err
	}
	file := filepath.Join(dir, "tasks", "tasks.go")
	if found, _ := filepath.Glob(filepath.Join(dir, "tasks", "*.go")); len(found) > 0 {
		return fmt.Errorf("%s is there already: nothing is written", filepath.ToSlash(found[0]))
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(starter), 0o644); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stdout, nextSteps, filepath.ToSlash(file))
	return err
}

// inModule is an error for a folder that belongs to no module.
func inModule(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		parent := filepath.Dir(dir)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if parent == dir {
			return errors.New("there is no go.mod here or above: run go mod init NAME first")
		}
		dir = parent
	}
}
