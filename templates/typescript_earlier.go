package templates

import (
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// earlier is the map from queues to earlier names of their tasks. Workers meet
// them; nobody adds jobs of them.
func (b *typescript) earlier(p *model.Package) string {
	var out strings.Builder
	out.WriteString("\n/** Earlier names of tasks, of which jobs may still be in a queue: a worker may meet them. */\n")
	out.WriteString("export interface EarlierTasks {")
	for _, q := range p.Queues {
		entries := map[string]string{}
		var names []string
		for _, t := range q.Tasks {
			for _, a := range t.Aliases {
				entries[a.Name] = b.alias(t, a.Name)
				names = append(names, a.Name)
			}
			for _, u := range t.Upgrades {
				entries[u.From] = b.task(t, u.From, u.Old)
				names = append(names, u.From)
			}
		}
		if len(names) == 0 {
			continue
		}
		slices.Sort(names)
		out.WriteString("\n  " + tsName(q.Name) + ": {\n")
		for _, name := range names {
			out.WriteString(entries[name])
		}
		out.WriteString("  };")
	}
	if strings.HasSuffix(out.String(), ";") {
		out.WriteString("\n")
	}
	out.WriteString("}\n")
	return out.String()
}

// alias is the entry of another name of the task.
func (b *typescript) alias(t *model.Task, name string) string {
	entry := b.task(t, name, t.Payload)
	return strings.TrimSuffix(entry, " };\n") + "; task: " + tsText(t.Name) + " };\n"
}

const tsCoded = `
/** What a codec stores in place of JSON: an object with one member, whose name begins with "$". */
export type CodedEnvelope = { [name: ` + "`$${string}`" + `]: unknown };

/**
 * What is stored of a task with a codec: an envelope, which is to be decoded
 * before use, or T itself where the codec left it as it is or a program without
 * it added the job.
 */
export type Coded<T> = T | CodedEnvelope;

/** Returns what is stored of the JSON text of a payload: it does what the codec does in Go. */
export type TaskEncode = (text: string, of: { queue: string; job: string; part: "data" }) => CodedEnvelope;
`

// coded declares what tasks with a codec have, if there are some.
func coded(p *model.Package) string {
	if slices.ContainsFunc(p.Tasks, func(t *model.Task) bool { return t.Codec != nil }) {
		return tsCoded
	}
	return ""
}
