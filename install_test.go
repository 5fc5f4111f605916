package bullmqgen_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// program adds a job, works it and prints its result, with all that it needs
// from this module inside its binary.
const program = `package main

import (
	"context"
	"fmt"
	"log"
	"time"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/embedded"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	server, err := embedded.Start()
	check(err)
	store, err := redisq.Open(server.URL())
	check(err)
	client, err := bullmq.NewClient(store)
	check(err)
	double := bullmq.NewTask[int, int](bullmq.Spec{Queue: &bullmq.QueueSpec{Name: "numbers"}, Name: "double"}, nil)
	worker, err := bullmq.NewWorker(client, double.Spec().Queue)
	check(err)
	double.Handle(worker, func(_ context.Context, job *bullmq.Job[int]) (int, error) { return 2 * job.Data, nil })
	check(worker.Start(ctx))
	job, err := double.Add(ctx, client, 21)
	check(err)
	result, err := job.Result(ctx)
	check(err)
	check(worker.Stop(ctx))
	fmt.Print(result)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
`

// C073: a vendored copy has everything, scripts included, and the binary needs
// no file at run time.
func TestC073VendoredProgramRunsAnywhere(t *testing.T) {
	t.Parallel()
	notShort(t)
	dir := newModule(t)
	writeFile(t, filepath.Join(dir, "main.go"), program)
	binary := filepath.Join(t.TempDir(), "program")
	for _, args := range [][]string{{"mod", "vendor"}, {"build", "-mod=vendor", "-trimpath", "-o", binary, "."}} {
		cmd := goCommand(dir, args...)
		cmd.Env = append(cmd.Env, "GOFLAGS=")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "go %v: %s", args, out)
	}
	run := goCommand(t.TempDir())
	run.Path, run.Args = binary, []string{binary}
	out, err := run.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "42", string(out))
}
