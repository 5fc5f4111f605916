package main

import (
	"encoding/json"
	"fmt"
	"io"

	bullmqgen "github.com/bullmq-gen/bullmq-gen"
)

// report prints what is to be said: diagnostics to stderr, with -check the
// differences to stdout, or all as JSON to stdout.
func report(result *bullmqgen.Result, changes []bullmqgen.Change, o *options, stdout, stderr io.Writer) error {
	if o.json {
		return printJSON(result, changes, o, stdout)
	}
	for _, d := range result.Diagnostics {
		fmt.Fprintln(stderr, d)
	}
	for _, f := range result.Files {
		if o.verbose || f.State == bullmqgen.Orphan && (o.check || !o.dry()) || o.check && f.State != bullmqgen.Fresh {
			fmt.Fprintln(stderr, result.Summary(f))
		}
	}
	for _, c := range changes {
		fmt.Fprintln(stderr, c)
	}
	switch {
	case result.Failed():
	case o.list:
		return list(result, stdout)
	case o.graph != "":
		return graph(result, o.graph, stdout)
	}
	if !o.check {
		return nil
	}
	if len(result.Changes()) > 0 {
		fmt.Fprintln(stderr, "generated code is not up to date: run go generate")
	}
	_, err := io.WriteString(stdout, result.Diff())
	return err
}

type jsonFile struct {
	Path   string          `json:"path"`
	Source string          `json:"source"`
	State  bullmqgen.State `json:"state"`
}

func printJSON(result *bullmqgen.Result, changes []bullmqgen.Change, o *options, stdout io.Writer) error {
	out := struct {
		Diagnostics []bullmqgen.Diagnostic `json:"diagnostics"`
		Files       []jsonFile             `json:"files"`
		Changes     []bullmqgen.Change     `json:"changes,omitempty"`
		Tasks       []bullmqgen.Listed     `json:"tasks,omitempty"`
	}{result.Diagnostics, []jsonFile{}, changes, nil}
	if out.Diagnostics == nil {
		out.Diagnostics = []bullmqgen.Diagnostic{}
	}
	for _, f := range result.Files {
		out.Files = append(out.Files, jsonFile{result.Relative(f.Path), f.Source, f.State})
	}
	if o.list {
		var err error
		if out.Tasks, err = result.Tasks(); err != nil {
			return err
		}
	}
	enc := json.NewEncoder(stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
