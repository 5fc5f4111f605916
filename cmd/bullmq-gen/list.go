package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	bullmqgen "github.com/bullmq-gen/bullmq-gen"
)

// list prints the tasks as a table.
func list(result *bullmqgen.Result, stdout io.Writer) error {
	tasks, err := result.Tasks()
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "QUEUE\tTASK\tTYPE\tPLACE\tOPTIONS")
	for _, t := range tasks {
		place := t.File
		if t.Line > 0 {
			place += fmt.Sprintf(":%d", t.Line)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", t.Queue, t.Name, t.Type, place, strings.Join(t.Options, " "))
	}
	return table.Flush()
}
