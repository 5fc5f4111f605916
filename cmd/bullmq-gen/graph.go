package main

import (
	"fmt"
	"io"

	bullmqgen "github.com/bullmq-gen/bullmq-gen"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// drawings are the forms of a picture of flows.
var drawings = map[string]func(bullmq.FlowTrees) string{
	"text":    bullmq.FlowTrees.Text,
	"mermaid": bullmq.FlowTrees.Mermaid,
	"dot":     bullmq.FlowTrees.DOT,
}

// graph draws the flows that the tasks declare.
func graph(result *bullmqgen.Result, format string, stdout io.Writer) error {
	flows, err := result.Flows()
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(stdout, drawings[format](flows))
	return err
}
