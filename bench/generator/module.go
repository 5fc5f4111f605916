package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// How large the module is.
const (
	packages        = 20
	tasksPerPackage = 10
)

// writeModule makes a module as large programs have them: each package has a
// declared queue and tasks with payloads of every common shape, and a program
// uses all that is generated.
func writeModule(dir, repository string) error {
	requirements, err := os.ReadFile(filepath.Join(repository, "go.mod"))
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(repository, "go.sum"))
	if err != nil {
		return err
	}
	_, requires, _ := strings.Cut(string(requirements), "\nrequire")
	const runtime = "github.com/bullmq-gen/bullmq-gen"
	files := map[string]string{
		"go.mod": "module example.com/large\n\ngo 1.26.0\n\nrequire " + runtime + " v0.0.0\n\nreplace " + runtime + " => " + repository + "\n\nrequire" + requires,
		"go.sum": string(sum),
	}
	program := "package main\n\nimport (\n"
	for p := range packages {
		name := fmt.Sprintf("team%02d", p)
		files[filepath.Join(name, "tasks", "queue.go")] = fmt.Sprintf("// Package tasks has the jobs of %s.\npackage tasks\n\n//bullmq:queue concurrency=20 limit=1000/1m keep-completed=1000\nconst Queue%02d = %q\n", name, p, name)
		for t := range tasksPerPackage {
			files[taskFile(p, t)] = task(p, t, "")
		}
		program += fmt.Sprintf("\t_ %q\n", "example.com/large/"+name+"/gen")
	}
	files["main.go"] = program + ")\n\nfunc main() {}\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func taskFile(p, t int) string {
	return filepath.Join(fmt.Sprintf("team%02d", p), "tasks", fmt.Sprintf("task%02d.go", t))
}

// task is the source of one task, with one more field if it is to be edited.
func task(p, t int, extra string) string {
	return strings.NewReplacer("NN", fmt.Sprintf("%02d", t), "QUEUE", fmt.Sprintf("team%02d", p), "EXTRA", extra).Replace(`package tasks

import "time"

// WorkNN is what has to be done about an order.
//
//bullmq:task QUEUE/work-NN result=DoneNN size-limit=64KiB
//bullmq:retry attempts=5 backoff=exponential:1s jitter=0.2
//bullmq:dedup ttl=10m
type WorkNN struct {
	OrderID string            ` + "`json:\"orderId\" bullmq:\"dedup\"`" + `
	Urgency int               ` + "`json:\"urgency\" bullmq:\"priority\"`" + `
	Lines   []LineNN          ` + "`json:\"lines\"`" + `
	Labels  map[string]string ` + "`json:\"labels,omitempty\"`" + `
	Placed  time.Time         ` + "`json:\"placed\"`" + `
	Note    *string           ` + "`json:\"note\"`" + `EXTRA
}

// LineNN is a line of the order.
type LineNN struct {
	SKU    string  ` + "`json:\"sku\"`" + `
	Amount int     ` + "`json:\"amount\"`" + `
	Price  float64 ` + "`json:\"price\"`" + `
}

// DoneNN is what became of it.
type DoneNN struct {
	ID string ` + "`json:\"id\"`" + `
}
`)
}
