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

/** A job of a flow. Child is what may stand below it. */
export interface FlowNode<Q extends string, N extends string, Data, Child = never> {
  queueName: Q;
  name: N;
  data: Data;
  prefix?: string;
  opts?: FlowJob["opts"];
  children?: Child[];
}

/** A flow whose root is task N of queue Q, for add of a FlowProducer. */
export type TypedFlow<Q extends QueueName, N extends TaskName<Q>> = FlowNode<
  Q,
  N,
  TaskData<Q, N>,
  Tasks[Q][N] extends { children: infer Child } ? Child : never
>;
`

// tsImport are the names that a package's declarations take from BullMQ.
func tsImport(p *model.Package) string {
	names := "BulkJobOptions, Job, JobsOptions, Queue"
	if hasFlows(p) {
		names = "BulkJobOptions, FlowJob, Job, JobsOptions, Queue"
	}
	return "import type { " + names + " } from \"bullmq\";\n"
}

func hasFlows(p *model.Package) bool { return slices.ContainsFunc(p.Tasks, (*model.Task).Parent) }

// slots is what may stand below a job of the task in a flow.
func (b *typescript) slots(t *model.Task) string {
	var out strings.Builder
	out.WriteString("      /** The jobs that it waits for. */\n      children:")
	for _, s := range t.Slots {
		out.WriteString("\n        | " + b.child(t, s))
	}
	return out.String() + ";\n"
}

// child is a child in a slot of t. What its options must not forget is required.
func (b *typescript) child(t *model.Task, s *model.Slot) string {
	node := "FlowNode<" + tsText(s.Queue.Name) + ", " + tsText(s.Task.Name) + ", " + b.stored(s.Task, s.Task.Payload, "        ")
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
	var out strings.Builder
	out.WriteString("/** The jobs that one of task " + docText(t.Name) + " waits for. */\nexport type " + name + " =")
	for _, s := range t.Slots {
		out.WriteString("\n  | " + b.child(t, s))
	}
	b.decls[name] = out.String() + ";\n"
	return name
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
