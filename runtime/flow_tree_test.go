package bullmq

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// drawn is a flow in every state, with names that pictures must escape.
func drawn() *FlowTree {
	return &FlowTree{
		Queue: "bull:reports", ID: "r-1", Name: "build-report", State: StateWaitingChildren,
		Children: []*FlowTree{
			{Queue: "bull:pages", ID: "pages.0.x", Name: "render-page", Label: "pages.0", Kind: ChildCompleted, State: StateCompleted},
			{Queue: "bull:pages", ID: "pages.1.x", Name: `say "<b>#1 & \n"`, Label: "pages.1", Kind: ChildIgnored, State: StateFailed, Reason: "boom `x`\nat line 3"},
			{Queue: "bull:pages", ID: "pages.2.x", Label: "pages.2", Kind: ChildCompleted, State: StateUnknown},
			{Queue: "a:pages", ID: "7", Name: "fetch-logo", Kind: ChildPending, State: StateActive, More: 12, Children: []*FlowTree{
				{Queue: "a:bits", ID: "8", Name: "bit", Kind: ChildPending, State: StateDelayed},
			}},
			{Queue: "bull:pages", ID: "9", Kind: ChildPending, State: StateUnknown},
		},
	}
}

func TestFlowTreeText(t *testing.T) {
	t.Parallel()
	require.Equal(t, `build-report (reports, r-1) waiting-children
├─ pages.0: render-page (pages) completed
├─ pages.1: say "<b>#1 & \n" (pages) failed, ignored: boom `+"`x`"+`
├─ pages.2: gone (pages) completed
├─ fetch-logo (pages, 7) active
│  ├─ bit (bits, 8) delayed
│  └─ and 12 more
└─ gone (pages, 9) lost
`, drawn().String())
	// A flow that is not one of living jobs has neither ids nor states.
	require.Equal(t, "a (q)\n└─ s: b (q)\n", (&FlowTree{Queue: "q", Name: "a", Children: []*FlowTree{{Queue: "q", Name: "b", Label: "s"}}}).Text())
}

func TestFlowTreeMermaid(t *testing.T) {
	t.Parallel()
	require.Equal(t, `flowchart TD
  n1["build-report<br/>reports, r-1<br/>waiting-children"]:::waiting-children
  n2["pages.0: render-page<br/>pages<br/>completed"]:::completed
  n1 --> n2
  n3["pages.1: say #quot;#lt;b#gt;#35;1 #amp; \n#quot;<br/>pages<br/>failed, ignored: boom #96;x#96;"]:::failed
  n1 --> n3
  n4["pages.2: gone<br/>pages<br/>completed"]
  n1 --> n4
  n5["fetch-logo<br/>pages, 7<br/>active"]:::active
  n1 --> n5
  n6["bit<br/>bits, 8<br/>delayed"]:::delayed
  n5 --> n6
  n7["12 more"]
  n5 --> n7
  n8["gone<br/>pages, 9<br/>lost"]
  n1 --> n8
  classDef active fill:#cfe8ff
  classDef completed fill:#d3f2d3
  classDef delayed fill:#eeeeee
  classDef failed fill:#ffd2d2
  classDef waiting-children fill:#eeeeee
`, drawn().Mermaid())
}

func TestFlowTreeDOT(t *testing.T) {
	t.Parallel()
	require.Equal(t, `digraph flow {
  node [shape=box, style=filled, fillcolor=white];
  n1 [label="build-report\nreports, r-1\nwaiting-children", fillcolor="#eeeeee"];
  n2 [label="pages.0: render-page\npages\ncompleted", fillcolor="#d3f2d3"];
  n1 -> n2;
  n3 [label="pages.1: say \"<b>#1 & \\n\"\npages\nfailed, ignored: boom `+"`x`"+`", fillcolor="#ffd2d2"];
  n1 -> n3;
  n4 [label="pages.2: gone\npages\ncompleted"];
  n1 -> n4;
  n5 [label="fetch-logo\npages, 7\nactive", fillcolor="#cfe8ff"];
  n1 -> n5;
  n6 [label="bit\nbits, 8\ndelayed", fillcolor="#eeeeee"];
  n5 -> n6;
  n7 [label="12 more"];
  n5 -> n7;
  n8 [label="gone\npages, 9\nlost"];
  n1 -> n8;
}
`, drawn().DOT())
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// A flow of living jobs, as deep and as wide as asked for.
func TestFlowOfLivingJobs(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	var pages []pageNode
	for n := range 30 {
		pages = append(pages, pageOf(n))
	}
	pages[1].Children = []*Node{childTask.Node("below", Priority(2))}
	h := k.addReport(slotsOf(logoOf(), pages...), JobID("r"))
	q := k.client.Queue("reports")

	tree, err := q.Flow(k.ctx, h.ID, 0, -1)
	require.NoError(t, err)
	require.Len(t, tree.Children, 31)
	for i, c := range tree.Children[1:] {
		require.Equal(t, fmt.Sprint("pages.", i), c.Label)
		require.Equal(t, ChildPending, c.Kind)
		require.JSONEq(t, fmt.Sprintf(`{"Number":%d}`, i), string(c.Record.Data))
	}
	lines := strings.Split(uuids.ReplaceAllString(tree.Text(), "<uuid>"), "\n")
	require.Equal(t, []string{
		"build-report (reports, r) waiting-children",
		"├─ logo.0: fetch-logo (pages) waiting",
		"├─ pages.0: render-page (pages) waiting",
		"├─ pages.1: render-page (pages) waiting-children",
		"│  └─ child (children, <uuid>) prioritized",
		"├─ pages.2: render-page (pages) waiting",
	}, lines[:6])

	tree, err = q.Flow(k.ctx, h.ID, 2, 0)
	require.NoError(t, err)
	require.Len(t, tree.Children, 20)
	require.Equal(t, 11, tree.More)
	require.Equal(t, DependencyCounts{Pending: 31}, tree.Counts)
	for _, c := range tree.Children {
		require.Empty(t, c.Children, "the depth ends here")
		require.NotEmpty(t, c.Name)
	}
	tree, err = q.Flow(k.ctx, h.ID, 1, 0)
	require.NoError(t, err)
	require.Empty(t, tree.Children)
	require.Equal(t, 31, tree.More)
	_, err = q.Flow(k.ctx, "nobody", 0, 0)
	require.ErrorIs(t, err, ErrJobNotFound)
	_, err = k.client.Queue("a:b").Flow(k.ctx, "", 0, 0)
	require.Error(t, err)
}

// A child that is removed when it is done is shown with what its parent knows.
func TestFlowWithRemovedChildren(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	k.workChildren()
	root := parentTask.Node(1)
	root.Opts.JobID = "p"
	root.Children = []*Node{
		childTask.Node("ok", KeepCompleted(KeepNone())), childTask.Node("fail", KeepFailed(KeepNone()), WhenFails(OnFailIgnore)),
		childTask.Node("later", Priority(1)), childTask.Node("fail", WhenFails(OnFailIgnore)),
	}
	for i, c := range root.Children {
		c.Opts.JobID = fmt.Sprint("c", i)
	}
	_, err := k.client.AddFlows(k.ctx, root)
	require.NoError(t, err)
	k.until("all children are done", func() bool { return k.countsOf("parents", "p") == DependencyCounts{Processed: 2, Ignored: 2} })
	tree, err := k.client.Queue("parents").Flow(k.ctx, "p", 0, 0)
	require.NoError(t, err)
	require.Equal(t, `parent (parents, p) waiting
├─ gone (children, c0) completed
├─ gone (children, c1) failed, ignored: boom
├─ child (children, c2) completed
└─ child (children, c3) failed, ignored: boom
`, tree.Text())
}

// Jobs that name one another as children do not go round for ever.
func TestFlowThatGoesRound(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	id := k.waitingFlow()
	c := k.server.Client(t)
	require.NoError(t, c.SAdd(k.ctx, "bull:children:a:dependencies", "bull:parents:"+id, "bull:children:b").Err())
	tree, err := k.client.Queue("parents").Flow(k.ctx, id, 100, 0)
	require.NoError(t, err)
	n := 0
	var count func(*FlowTree)
	count = func(t *FlowTree) {
		n++
		for _, c := range t.Children {
			count(c)
		}
	}
	count(tree)
	require.Equal(t, 5, n)
}
