package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const partsTasks = `package tasks

// Level is how loud it is.
type Level string

const Loud Level = "loud"

// Part is in Do and in its result.
type Part struct {
	A string ` + "`json:\"a\"`" + `
	L Level  ` + "`json:\"l\"`" + `
}

// Result is what Do returns.
type Result struct {
	P Part ` + "`json:\"p\"`" + `
}

// Do does.
//
//bullmq:task jobs/do result=Result
//bullmq:retry attempts=5
type Do struct {
	P Part ` + "`json:\"p\"`" + `
}
`

// What the compiler does not see of a change, -check does.
func TestCheckFindsStaleOptionsCommentsConstantsAndParts(t *testing.T) {
	t.Parallel()
	dir := module(t, partsTasks)
	code, _, stderr := start(t, dir, "./...")
	require.Zero(t, code, stderr)
	for name, change := range map[string][2]string{
		"a directive":                  {"attempts=5", "attempts=9"},
		"a comment":                    {"// Do does.", "// Do does it."},
		"a constant":                   {`"loud"`, `"noisy"`},
		"a field of a nested struct":   {`json:"a"`, `json:"b"`},
		"a member that is new":         {"\tL Level", "\tMore int\n\tL Level"},
		"a field of the result itself": {"type Result struct {", "type Result struct {\n\tN int"},
	} {
		write(t, dir, "tasks/tasks.go", strings.Replace(partsTasks, change[0], change[1], 1))
		code, _, stderr := start(t, dir, "-check", "./...")
		require.Equal(t, failed, code, name)
		require.Contains(t, stderr, ": stale\n", name)
	}
	write(t, dir, "tasks/tasks.go", partsTasks)
	code, _, stderr = start(t, dir, "-check", "./...")
	require.Zero(t, code, stderr)
}
