package templates

import (
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// tsFlowHelpers stand in files whose tasks have children.
const tsFlowHelpers = `
/** What randomUUID() gives. The id of a child that has to say its slot ends with it. */
export type UUID = ` + "`" + `${string}-${string}-${string}-${string}-${string}` + "`" + `;

/** A job of a flow. Children is the list of those that may stand below it. */
export interface FlowNode<Q extends string, N extends string, Data, Children = never[]> {
  queueName: Q;
  name: N;
  data: Data;
  prefix?: string;
  opts?: FlowJob["opts"];
  children?: Children;
}

/** A job of a flow that cannot do without children. */
export interface FullNode<Q extends string, N extends string, Data, Children> extends FlowNode<Q, N, Data, Children> {
  children: Children;
}

/**
 * A flow whose root is task N of queue Q, for add of a FlowProducer. Children of
 * slots with exactly one come first. Its jobs have the options that stand here alone:
 * addFlow of a task has the declared ones.
 */
export type TypedFlow<Q extends QueueName, N extends TaskName<Q>> = Tasks[Q][N] extends { children: infer Children }
  ? [] extends Children
    ? FlowNode<Q, N, TaskData<Q, N>, Children>
    : FullNode<Q, N, TaskData<Q, N>, Children>
  : FlowNode<Q, N, TaskData<Q, N>>;
`

// tsImport are the names that declarations take from BullMQ.
const tsImport = "import type { BulkJobOptions, FlowJob, Job, JobsOptions, Queue } from \"bullmq\";\n"

func hasFlows(p *model.Package) bool { return slices.ContainsFunc(p.Tasks, (*model.Task).Parent) }

// slots is what stands below a job of the task in a flow: a list that begins with
// those that there must be.
func (b *typescript) slots(t *model.Task, indent string) string {
	var first, rest strings.Builder
	for _, s := range t.Slots {
		if s.Kind == model.One {
			first.WriteString(indent + "  " + b.child(t, s) + ",\n")
		} else {
			rest.WriteString("\n" + indent + "  | " + b.child(t, s))
		}
	}
	others := "(" + rest.String() + "\n" + indent + ")[]"
	switch {
	case first.Len() == 0:
		return others
	case rest.Len() == 0:
		return "[\n" + first.String() + indent + "]"
	}
	return "[\n" + first.String() + indent + "  ...(" + strings.ReplaceAll(rest.String(), "\n", "\n  ") + "\n" + indent + "  )[],\n" + indent + "]"
}

// child is a child in a slot of t. What its options must not forget is required.
func (b *typescript) child(t *model.Task, s *model.Slot) string {
	kind := "FlowNode<"
	if needsChild(s.Task) {
		kind = "FullNode<"
	}
	node := kind + tsText(s.Queue.Name) + ", " + tsText(s.Task.Name) + ", " + b.stored(s.Task, s.Task.Payload, "        ")
	if s.Task.Parent() {
		node += ", " + b.below(s.Task)
	}
	node += ">"
	var opts []string
	if o := s.OnFail.Option(); o != "" {
		opts = append(opts, o+": true")
	}
	if sharesTask(t, s) {
		opts = append(opts, "jobId: "+slotID(s))
	}
	if len(opts) == 0 {
		return node
	}
	return "(" + node + " & { opts: { " + strings.Join(opts, "; ") + " } })"
}

// below is the name of the type of what may stand below a job of a task that is a
// child itself. It is declared once, however many tasks lead there.
func (b *typescript) below(t *model.Task) string {
	if name, known := b.children[t]; known {
		return name
	}
	name := b.names.Free(t.GoName + "Children")
	b.children[t] = name
	b.decls[name] = "/** The jobs that one of task " + docText(t.Name) + " waits for. */\nexport type " + name + " = " + b.slots(t, "") + ";\n"
	return name
}

// needsChild is true for tasks whose jobs cannot do without children.
func needsChild(t *model.Task) bool {
	return slices.ContainsFunc(t.Slots, func(s *model.Slot) bool { return s.Kind == model.One })
}

// sharesTask is true when another slot is for the same task: then only the id of
// a child says which one it is in.
func sharesTask(t *model.Task, s *model.Slot) bool {
	return slices.ContainsFunc(t.Slots, func(o *model.Slot) bool { return o != s && o.Task == s.Task })
}

// slotID is the type of the ids of children in a slot.
func slotID(s *model.Slot) string {
	at := "0"
	switch s.Kind {
	case model.Many:
		at = "${number}"
	case model.Keyed:
		at = "${string}"
	}
	return "`" + s.Name + "." + at + ".${UUID}`"
}
