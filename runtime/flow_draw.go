package bullmq

import (
	"fmt"
	"strings"
)

// String is Text.
func (t *FlowTree) String() string { return t.Text() }

// Text shows the flow as an indented list, one job a line.
func (t *FlowTree) Text() string {
	var b strings.Builder
	t.text(&b, "", "")
	return b.String()
}

func (t *FlowTree) text(b *strings.Builder, first, rest string) {
	b.WriteString(first + strings.Join(t.words(), " ") + "\n")
	for i, c := range t.Children {
		if i == len(t.Children)-1 && t.More == 0 {
			c.text(b, rest+"└─ ", rest+"   ")
		} else {
			c.text(b, rest+"├─ ", rest+"│  ")
		}
	}
	if t.More > 0 {
		fmt.Fprintf(b, "%s└─ and %d more\n", rest, t.More)
	}
}

// words say what a line shows of the job.
func (t *FlowTree) words() []string {
	var words []string
	if t.Label != "" {
		words = append(words, t.Label+":")
	}
	words = append(words, t.title(), "("+t.where()+")")
	if s := t.status(); s != "" {
		words = append(words, s)
	}
	return words
}

// title is the job's name. One that is gone has none any more.
func (t *FlowTree) title() string {
	if t.Name == "" {
		return "gone"
	}
	return t.Name
}

// where is the job's queue and its id. An id that only says the place of the
// job again is left out.
func (t *FlowTree) where() string {
	queue := bareQueue(t.Queue)
	if t.ID == "" || t.Label != "" {
		return queue
	}
	return queue + ", " + t.ID
}

// status is the job's state, or what its parent knows of it when it is gone, and why it failed.
func (t *FlowTree) status() string {
	s := string(t.State)
	if t.State == StateUnknown && t.Kind != "" {
		s = map[ChildKind]string{ChildCompleted: "completed", ChildIgnored: "failed", ChildFailed: "failed", ChildPending: "lost"}[t.Kind]
	}
	if t.Kind == ChildIgnored {
		s += ", ignored"
	}
	if t.Reason != "" && s != "" {
		s += ": " + firstLine(t.Reason)
	}
	return s
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// colors are those of the states in pictures.
var colors = []struct {
	state State
	fill  string
}{
	{StateActive, "#cfe8ff"}, {StateCompleted, "#d3f2d3"}, {StateDelayed, "#eeeeee"}, {StateFailed, "#ffd2d2"},
	{StatePrioritized, "#fff3c4"}, {StateWaiting, "#fff3c4"}, {StateWaitingChildren, "#eeeeee"},
}

// Mermaid shows the flow as a Mermaid flowchart, colored by state.
func (t *FlowTree) Mermaid() string { return FlowTrees{t}.Mermaid() }

// DOT shows the flow in the language of Graphviz, colored by state.
func (t *FlowTree) DOT() string { return FlowTrees{t}.DOT() }

// FlowTrees are flows to be shown in one picture.
type FlowTrees []*FlowTree

// Text shows the flows as indented lists, with an empty line between them.
func (ts FlowTrees) Text() string {
	texts := make([]string, len(ts))
	for i, t := range ts {
		texts[i] = t.Text()
	}
	return strings.Join(texts, "\n")
}

// Mermaid shows the flows as a Mermaid flowchart, colored by state.
func (ts FlowTrees) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	n := 0
	used := map[State]bool{}
	ts.draw(func(t *FlowTree, parent int) int {
		n++
		fmt.Fprintf(&b, "  n%d[\"%s\"]", n, mermaidText(t.lines()))
		if t.State != "" && t.State != StateUnknown {
			used[t.State] = true
			fmt.Fprintf(&b, ":::%s", t.State)
		}
		b.WriteString("\n")
		if parent > 0 {
			fmt.Fprintf(&b, "  n%d --> n%d\n", parent, n)
		}
		return n
	})
	for _, c := range colors {
		if used[c.state] {
			fmt.Fprintf(&b, "  classDef %s fill:%s\n", c.state, c.fill)
		}
	}
	return b.String()
}

// mermaidText writes lines so that none of their characters means something to Mermaid.
func mermaidText(lines []string) string {
	escaped := make([]string, len(lines))
	for i, line := range lines {
		escaped[i] = strings.NewReplacer("#", "#35;", "\"", "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "`", "#96;").Replace(line)
	}
	return strings.Join(escaped, "<br/>")
}

// DOT shows the flows in the language of Graphviz, colored by state.
func (ts FlowTrees) DOT() string {
	var b strings.Builder
	b.WriteString("digraph flow {\n  node [shape=box, style=filled, fillcolor=white];\n")
	n := 0
	ts.draw(func(t *FlowTree, parent int) int {
		n++
		fmt.Fprintf(&b, "  n%d [label=\"%s\"", n, dotText(t.lines()))
		for _, c := range colors {
			if c.state == t.State {
				fmt.Fprintf(&b, ", fillcolor=\"%s\"", c.fill)
			}
		}
		b.WriteString("];\n")
		if parent > 0 {
			fmt.Fprintf(&b, "  n%d -> n%d;\n", parent, n)
		}
		return n
	})
	b.WriteString("}\n")
	return b.String()
}

func dotText(lines []string) string {
	escaped := make([]string, len(lines))
	for i, line := range lines {
		escaped[i] = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(line)
	}
	return strings.Join(escaped, `\n`)
}

func (ts FlowTrees) draw(f func(t *FlowTree, parent int) int) {
	for _, t := range ts {
		t.draw(f, 0)
	}
}

// draw calls f with each job and the number of its parent; f gives the job's own.
func (t *FlowTree) draw(f func(t *FlowTree, parent int) int, parent int) {
	n := f(t, parent)
	for _, c := range t.Children {
		c.draw(f, n)
	}
	if t.More > 0 {
		f(&FlowTree{Name: fmt.Sprintf("%d more", t.More)}, n)
	}
}

// lines are what a box shows of the job.
func (t *FlowTree) lines() []string {
	title := t.title()
	if t.Label != "" {
		title = t.Label + ": " + title
	}
	lines := []string{title}
	if where := t.where(); where != "" {
		lines = append(lines, where)
	}
	if s := t.status(); s != "" {
		lines = append(lines, s)
	}
	return lines
}
