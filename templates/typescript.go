package templates

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/tstag"
)

// tsHelpers are the same in every file of declarations.
const tsHelpers = `
/** The name of a queue. */
export type QueueName = keyof Tasks & string;

/** The names of the tasks of queue Q. */
export type TaskName<Q extends QueueName> = keyof Tasks[Q] & string;

/** The names that a job of queue Q may have: those of its tasks, and earlier ones. */
export type JobName<Q extends QueueName> =
  | TaskName<Q>
  | (Q extends keyof EarlierTasks ? keyof EarlierTasks[Q] & string : never);

type TaskOf<Q extends QueueName, N extends JobName<Q>> = N extends TaskName<Q>
  ? Tasks[Q][N]
  : Q extends keyof EarlierTasks
    ? N extends keyof EarlierTasks[Q]
      ? EarlierTasks[Q][N]
      : never
    : never;

/** The data of jobs of the name N of queue Q. */
export type TaskData<Q extends QueueName, N extends JobName<Q>> =
  TaskOf<Q, N> extends { data: infer Data } ? Data : never;

/** The result of jobs of the name N of queue Q. */
export type TaskResult<Q extends QueueName, N extends JobName<Q>> =
  TaskOf<Q, N> extends { result: infer Result } ? Result : never;

/** A job of queue Q. A comparison of job.name tells the types of its data and result. */
export type TypedJob<Q extends QueueName, N extends JobName<Q> = JobName<Q>> = {
  [K in N]: Job<TaskData<Q, K>, TaskResult<Q, K>, K>;
}[N];

/** The names of jobs of queue Q that are another name of task N. */
type AliasOf<Q extends QueueName, N = string> = Q extends keyof EarlierTasks
  ? { [A in keyof EarlierTasks[Q] & string]: EarlierTasks[Q][A] extends { task: N } ? A : never }[keyof EarlierTasks[Q] & string]
  : never;

/** The functions for all jobs of queue Q, by the names of the jobs: see processor. */
export type Handlers<Q extends QueueName> = {
  [N in Exclude<JobName<Q>, AliasOf<Q>>]: (
    job: TypedJob<Q, N | AliasOf<Q, N>>,
    token?: string,
    signal?: AbortSignal,
  ) => TaskResult<Q, N> | Promise<TaskResult<Q, N>>;
};

/** The function of a worker of queue Q. What it returns depends on the name of the job. */
export type TypedProcessor<Q extends QueueName> = <N extends JobName<Q>>(
  job: TypedJob<Q, N>,
  token?: string,
  signal?: AbortSignal,
) => Promise<TaskResult<Q, N>>;

/**
 * Returns the function of a worker of a queue, which calls the handler of the
 * job's name: new Worker(queue, processor(queue, handlers)). Jobs of an earlier
 * name go to the handler of their task; one of an unknown name fails.
 */
export declare function processor<Q extends QueueName>(queue: Q, handlers: Handlers<Q>): TypedProcessor<Q>;

/** One job for addBulk. */
export type TypedBulkJob<Q extends QueueName> = {
  [N in TaskName<Q>]: { name: N; data: TaskData<Q, N>; opts?: BulkJobOptions };
}[TaskName<Q>];

/**
 * Queue Q with the types of its tasks: const queue: TypedQueue<Q> = new Queue<any, any, any>(Q).
 * What it adds has the options of the call alone: the add of a task has the declared ones.
 */
export interface TypedQueue<Q extends QueueName>
  extends Omit<Queue, "add" | "addBulk" | "getJob" | "getJobs"> {
  add<N extends TaskName<Q>>(
    name: N,
    data: TaskData<Q, N>,
    opts?: JobsOptions,
  ): Promise<TypedJob<Q, N>>;
  addBulk(jobs: TypedBulkJob<Q>[]): Promise<TypedJob<Q>[]>;
  getJob(id: string): Promise<TypedJob<Q> | undefined>;
  getJobs(
    types?: Parameters<Queue["getJobs"]>[0],
    start?: number,
    end?: number,
    asc?: boolean,
  ): Promise<TypedJob<Q>[]>;
}
`

// tsReserved are the names that a file of declarations has of its own.
var tsReserved = []string{
	"AbortSignal", "AliasOf", "BulkJobOptions", "BulkOptions", "BulkOptsWith", "Coded", "CodedEnvelope",
	"DeclaredTask", "EarlierTasks", "Exclude", "FlowJob", "FlowNode", "FullNode", "GenOptions", "Handlers", "Job",
	"JobName", "JobsOptions", "KeysOf", "NodeOptions", "NodeTask", "NonNullable", "Omit", "OptsWith",
	"Parameters", "ParentTask", "Promise", "Queue", "QueueName", "Readonly", "Record", "ScheduleOptions",
	"ScheduledTask", "TaskData", "TaskEncode", "TaskJob", "TaskName", "TaskNode", "TaskOf", "TaskOptions",
	"TaskRepeat", "TaskResult", "Tasks", "ToAdd", "TypedBulkJob", "TypedFlow", "TypedJob", "TypedProcessor",
	"TypedQueue", "TypedTask", "UUID",
}

// TypeScript returns the type declarations of p for Node programs.
func TypeScript(p *model.Package) []byte {
	b := &typescript{decls: map[string]string{}, children: map[*model.Task]string{}}
	for _, name := range tsReserved {
		b.names.Take(name)
	}
	tasks := b.tasks(p) + b.earlier(p) + coded(p)
	declared := b.taskDeclarations(p)
	var out strings.Builder
	out.WriteString(Header + "\n//\n" + sourceLine + p.Path + "\n\n" + tsImport + "\n" + tasks + tsHelpers)
	if hasFlows(p) {
		out.WriteString(tsFlowHelpers)
	}
	out.WriteString(declared)
	names := make([]string, 0, len(b.decls))
	for name := range b.decls {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		out.WriteString("\n" + b.decls[name])
	}
	return []byte(out.String())
}

// typescript makes one file. Declared types become declarations.
type typescript struct {
	names model.TypeNames
	decls map[string]string
	// children are the names of what may stand below jobs of tasks.
	children map[*model.Task]string
}

// tasks is the map from queues to their tasks.
func (b *typescript) tasks(p *model.Package) string {
	var out strings.Builder
	out.WriteString("/** The tasks of each queue: the name of a job, and what its data and result are. */\n")
	out.WriteString("export interface Tasks {\n")
	for _, q := range p.Queues {
		out.WriteString(docComment(q.Doc, "  ") + "  " + tsName(q.Name) + ": {\n")
		for _, t := range slices.SortedFunc(slices.Values(q.Tasks), func(a, b *model.Task) int { return cmp.Compare(a.Name, b.Name) }) {
			out.WriteString(docComment(t.Doc, "    ") + b.task(t, t.Name, t.Payload))
		}
		out.WriteString("  };\n")
	}
	out.WriteString("}\n")
	return out.String()
}

// task is the entry of a name of the task, whose jobs have the payload.
func (b *typescript) task(t *model.Task, name string, payload *model.Type) string {
	data, result := b.stored(t, payload, "    "), "null | void"
	if t.Result != nil {
		result = b.stored(t, t.Result, "    ")
	}
	if t.Parent() && name == t.Name {
		return fmt.Sprintf("    %s: {\n      data: %s;\n      result: %s;\n      /** The jobs that it waits for. */\n      children: %s;\n    };\n", tsName(name), data, result, b.slots(t, "      "))
	}
	return fmt.Sprintf("    %s: { data: %s; result: %s };\n", tsName(name), data, result)
}

// stored is the type of what is stored for a payload or result of the task.
func (b *typescript) stored(t *model.Task, of *model.Type, indent string) string {
	s := b.whole(of, indent)
	if t.Codec != nil {
		return "Coded<" + s + ">"
	}
	return s
}

// whole is the type with null, if it can be that.
func (b *typescript) whole(t *model.Type, indent string) string {
	s, null := b.value(t, false, indent)
	if null {
		return s + " | null"
	}
	return s
}

// value returns the type of what encoding/json makes of t, without null, and
// whether that is possible too.
func (b *typescript) value(t *model.Type, quoted bool, indent string) (s string, null bool) {
	actual := t.Actual()
	switch {
	case actual.Kind == model.Pointer:
		s, null := b.value(actual.Elem, quoted, indent)
		if null {
			s += " | null"
		}
		return s, true
	case actual.Is(model.RuntimePath, "Millis"):
		return "number", false
	case actual.SelfMade() || actual.Kind == model.Interface || actual.Is("encoding/json", "Number"):
		return tsSelfMade(actual.Writer(), quoted), actual.CanBeNil() && actual.Text() && !actual.JSON()
	}
	null = actual.CanBeNil()
	if actual.Name == "" || actual.Path == "" || quoted {
		return b.structure(actual, quoted, indent), null
	}
	name := b.names.Of(actual)
	if _, known := b.decls[name]; !known {
		b.decls[name] = "" // a recursive type is met again
		b.decls[name] = b.declare(name, actual)
	}
	return name, null
}

func (b *typescript) declare(name string, t *model.Type) string {
	head := docComment(t.Doc, "") + "export "
	if t.Kind == model.Struct {
		return head + "interface " + name + " " + b.structure(t, false, "") + "\n"
	}
	return head + "type " + name + " = " + b.structure(t, false, "") + ";\n"
}

func tsSelfMade(t *model.Type, quoted bool) string {
	switch {
	case t.Is("math/big", "Int"), t.Is("encoding/json", "Number") && !quoted:
		return "number"
	case t.Is("time", "Time"), t.Is("encoding/json", "Number"), t.Text() && !t.JSON():
		return "string"
	}
	return "unknown"
}

func (b *typescript) structure(t *model.Type, quoted bool, indent string) string {
	switch {
	case quoted && t.Kind == model.Bool:
		return union([]string{"true", "false"})
	case quoted, t.Kind == model.Slice && t.Bytes():
		return "string"
	case t.Kind == model.String:
		return union(t.Consts)
	case t.Kind == model.Bool:
		return "boolean"
	case t.Kind == model.Slice:
		return list(b.element(t.Elem, indent))
	case t.Kind == model.Array && t.Len <= maxTuple:
		return "[" + strings.Join(slices.Repeat([]string{b.element(t.Elem, indent)}, int(t.Len)), ", ") + "]"
	case t.Kind == model.Array:
		return list(b.element(t.Elem, indent))
	case t.Kind == model.Map:
		return "{ [key: string]: " + b.element(t.Elem, indent) + " }"
	case t.Kind == model.Struct:
		return b.object(t, indent)
	}
	return "number"
}

// maxTuple is the longest array that is written as a tuple.
const maxTuple = 8

// union is one of the constants, or any text when there are none.
func union(constants []string) string {
	if len(constants) == 0 {
		return "string"
	}
	quoted := make([]string, len(constants))
	for i, c := range constants {
		quoted[i] = tsText(c)
	}
	return strings.Join(quoted, " | ")
}

func list(elem string) string {
	if isUnion(elem) {
		return "(" + elem + ")[]"
	}
	return elem + "[]"
}

// isUnion reports whether the type has a | outside of brackets, quotes and
// comments.
func isUnion(s string) bool {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case strings.HasPrefix(s[i:], "/*"):
			i += strings.Index(s[i:], "*/") + 1
		case strings.IndexByte("([{<", c) >= 0:
			depth++
		case strings.IndexByte(")]}>", c) >= 0:
			depth--
		case c == '|' && depth == 0:
			return true
		}
	}
	return false
}

func (b *typescript) element(t *model.Type, indent string) string {
	s, null := b.value(t, false, indent)
	if null {
		return s + " | null"
	}
	return s
}

// object is the type of a struct's JSON object.
func (b *typescript) object(t *model.Type, indent string) string {
	members, _ := t.Members()
	if len(members) == 0 {
		return "{ [key: string]: never }"
	}
	var out strings.Builder
	out.WriteString("{\n")
	for _, m := range members {
		f := m.Field()
		s, null := tagged(f)
		if s == "" {
			s, null = b.value(f.Type, m.Quoted, indent+"  ")
		}
		if null {
			s += " | null"
		}
		optional := ""
		if m.Optional() {
			optional = "?"
		}
		fmt.Fprintf(&out, "%s%s  %s%s: %s;\n", docComment(f.Doc, indent+"  "), indent, tsName(m.Name), optional, s)
	}
	out.WriteString(indent + "}")
	return out.String()
}

// tagged is the type that the field's tag tells, or "", and whether its value can
// be null besides: nil is written as null unless the type writes itself.
func tagged(f *model.Field) (s string, null bool) {
	s = f.TypeScript()
	null = s != "" && f.Type.CanBeNil() && !f.Type.OwnNull() && !tstag.TakesNull(s, 0)
	if null && strings.ContainsAny(s, ">?") { // what follows => or a condition would take null in
		s = "(" + s + ")"
	}
	return s, null
}

var tsIdentifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// tsName is the name of a member, in quotes if it has to be.
func tsName(name string) string {
	if tsIdentifier.MatchString(name) {
		return name
	}
	return tsText(name)
}

// tsText is a string literal.
func tsText(text string) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string has always a form
	return strings.TrimSuffix(out.String(), "\n")
}

// docText is a text that does not end a comment.
func docText(text string) string { return strings.ReplaceAll(text, "*/", `*\/`) }

// docComment is a Go comment as TypeScript has it.
func docComment(text, indent string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	text = docText(text)
	if d := model.Deprecation(text); d != "" {
		text = strings.Replace(text, "Deprecated: ", "@deprecated ", 1)
	}
	lines := strings.Split(text, "\n")
	if len(lines) == 1 {
		return indent + "/** " + text + " */\n"
	}
	var out strings.Builder
	out.WriteString(indent + "/**\n")
	for _, line := range lines {
		out.WriteString(strings.TrimRight(indent+" * "+line, " \t") + "\n")
	}
	out.WriteString(indent + " */\n")
	return out.String()
}
