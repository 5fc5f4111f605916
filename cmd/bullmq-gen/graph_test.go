package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const flowTasks = `package tasks

//bullmq:task reports/build-report children=BuildReportChildren
type BuildReport struct{}

type BuildReportChildren struct {
	Pages  []RenderPage          ` + "`bullmq:\"onfail=fail\"`" + `
	Logo   FetchLogo             ` + "`bullmq:\"onfail=ignore\"`" + `
	Cover  *RenderPage           ` + "`bullmq:\"onfail=continue\"`" + `
	Extras map[string]FetchLogo  ` + "`bullmq:\"onfail=remove\"`" + `
}

//bullmq:task pages/render-page children=RenderPageChildren
type RenderPage struct{}

type RenderPageChildren struct {
	Images []FetchLogo
}

//bullmq:task pages/fetch-logo
type FetchLogo struct{}

//bullmq:task audits/audit children=AuditChildren
type Audit struct{}

type AuditChildren struct {
	Look FetchLogo ` + "`bullmq:\"onfail=fail\"`" + `
}
`

func TestGraph(t *testing.T) {
	t.Parallel()
	dir := module(t, flowTasks)
	code, stdout, stderr := start(t, dir, "graph")
	require.Zero(t, code, stderr)
	require.Equal(t, `audit (audits)
└─ look: fetch-logo (pages)

build-report (reports)
├─ pages[]: render-page (pages)
│  └─ images[], holds the job up when it fails: fetch-logo (pages)
├─ logo, may fail: fetch-logo (pages)
├─ cover?, ends the wait when it fails: render-page (pages)
│  └─ images[], holds the job up when it fails: fetch-logo (pages)
└─ extras{}, may fail: fetch-logo (pages)
`, stdout)
	code, stdout, _ = start(t, dir, "graph", "-format", "mermaid", "./...")
	require.Zero(t, code)
	require.Contains(t, stdout, `flowchart TD
  n1["audit<br/>audits"]
  n2["look: fetch-logo<br/>pages"]
  n1 --> n2
  n3["build-report<br/>reports"]
  n4["pages[]: render-page<br/>pages"]
  n3 --> n4
`)
	code, stdout, _ = start(t, dir, "graph", "-format", "dot", "./...")
	require.Zero(t, code)
	require.Contains(t, stdout, "  n3 [label=\"build-report\\nreports\"];\n")
	require.NoDirExists(t, dir+"/gen")

	for _, args := range [][]string{{"-format", "png"}, {"-json"}, {"-manifest=false"}} {
		code, stdout, stderr = start(t, dir, append([]string{"graph"}, args...)...)
		require.Equal(t, trouble, code)
		require.Empty(t, stdout)
		require.Contains(t, stderr, args[0])
	}
	code, stdout, _ = start(t, module(t, goodTasks), "graph", "./...")
	require.Zero(t, code)
	require.Empty(t, stdout, "there are no flows")
}
