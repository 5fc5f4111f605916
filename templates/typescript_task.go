package templates

import (
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// tsTaskHelpers describe the tasks of the module beside the declarations.
const tsTaskHelpers = `
/** Options that Go workers alone know, in milliseconds. */
export interface GenOptions {
  /** How long the handler may take. */
  timeout?: number | null;
  /** How long the job may wait until it fails without being run. */
  ttl?: number | null;
}

/**
 * Options of a job, in the place of those that its task declares or its payload
 * gives. Null takes one away: such a job has none.
 */
export type TaskOptions = { [O in keyof Omit<JobsOptions, "repeat">]?: JobsOptions[O] | null } & {
  gen?: GenOptions | null;
};

/** Options of all jobs that addBulk adds: a job cannot have the id of another. */
export type BulkOptions = Omit<TaskOptions, "jobId" | "deduplication" | "parent">;

/** A job for addBulk of a Queue. */
export interface TaskJob<N extends string> {
  name: N;
  data: any;
  opts: JobsOptions;
}

/** A Queue of BullMQ, as far as tasks need it. */
type ToAdd = { readonly name: string; add(name: any, data: any, opts?: any): Promise<any>; addBulk(jobs: any): Promise<any> };

/** More is what a task needs of a caller: keys the payload does not show, or encode for its codec. */
type OptsWith<Options, More> = {} extends More ? [opts?: Options] : [opts: Options & More];

/** The options of all jobs of addBulk, or a function that returns those of each. */
type BulkOptsWith<Data, More> =
  | OptsWith<BulkOptions, More>
  | [opts: (data: Data, index: number) => TaskOptions & More];

type KeysOf<More> = More extends { keys: infer K } ? { keys: K } : {};

/** What is declared of task N of queue Q. */
interface DeclaredTask<Q extends QueueName, N extends TaskName<Q>, Data, More> {
  readonly queue: Q;
  readonly name: N;
  /** The options that all jobs of the task have. */
  readonly defaults: JobsOptions & { gen?: GenOptions };
  /** The id of a job with the payload; undefined: the queue numbers it. */
  jobId(data: Data, ...opts: OptsWith<unknown, KeysOf<More>>): string | undefined;
  /** The deduplication id of a job with the payload; undefined: it has none. */
  deduplicationId(data: Data, ...opts: OptsWith<unknown, KeysOf<More>>): string | undefined;
  /** All options of a job with the payload, for a Queue: the task's, the payload's, and those given. */
  options(data: Data, ...opts: OptsWith<TaskOptions, KeysOf<More>>): JobsOptions;
}

/** A task whose jobs are added one by one, or many at once. */
export interface TypedTask<Q extends QueueName, N extends TaskName<Q>, Data, More = {}> extends DeclaredTask<Q, N, Data, More> {
  /** Adds a job to the queue, with the options that are declared in Go. */
  add(queue: ToAdd, data: Data, ...opts: OptsWith<TaskOptions, More>): Promise<TypedJob<Q, N>>;
  /** Adds many jobs in one call. If one is wrong, none is added. */
  addBulk(queue: ToAdd, list: readonly Data[], ...opts: BulkOptsWith<Data, More>): Promise<TypedJob<Q, N>[]>;
  /** Returns a job for addBulk of a Queue, with jobs of other tasks. It adds nothing. */
  job(data: Data, ...opts: OptsWith<TaskOptions, More>): TaskJob<N>;
}

/** Options of a job in a flow: its slot says what its failure means. */
export type NodeOptions = Omit<
  TaskOptions,
  "deduplication" | "parent" | "continueParentOnFailure" | "ignoreDependencyOnFailure" | "removeDependencyOnFailure"
>;

/** A job of a flow, which node of a task makes. */
export interface TaskNode<Q extends string, N extends string> {
  queueName: Q;
  name: N;
  data: any;
  opts: NonNullable<FlowJob["opts"]>;
  children?: FlowJob[];
}

/** A task whose jobs may be children in flows. */
export interface NodeTask<Q extends QueueName, N extends TaskName<Q>, Data, More = {}> extends TypedTask<Q, N, Data, More> {
  /** Returns a job for a slot of another task. It adds nothing. */
  node(data: Data, ...opts: OptsWith<NodeOptions, More>): TaskNode<Q, N>;
}
`

// tsParentHelpers stand in files whose tasks have children.
const tsParentHelpers = `
/** A task whose jobs wait for those in their slots. */
export interface ParentTask<Q extends QueueName, N extends TaskName<Q>, Data, Slots, More = {}>
  extends DeclaredTask<Q, N, Data, More> {
  /** Adds a job and those that it waits for in one step, by a FlowProducer. */
  addFlow<Node>(
    producer: { add(flow: FlowJob): Promise<Node> },
    data: Data,
    children: Slots,
    ...opts: OptsWith<Omit<TaskOptions, "deduplication">, More>
  ): Promise<Node>;
  /** Returns a job with those that it waits for, for a FlowProducer or a slot of another task. It adds nothing. */
  node(data: Data, children: Slots, ...opts: OptsWith<NodeOptions, More>): TaskNode<Q, N>;
}
`

// tsScheduleHelpers stand in files whose tasks have schedules.
const tsScheduleHelpers = `
/** Options of jobs of a schedule, which gives them times and ids of its own. */
export type ScheduleOptions = Omit<TaskOptions, "jobId" | "deduplication" | "delay" | "parent" | "timestamp">;

/** When a schedule adds jobs, as BullMQ has it. */
export interface TaskRepeat {
  pattern?: string;
  tz?: string;
  every?: number;
  offset?: number;
  limit?: number;
  startDate?: string;
  endDate?: string;
}

/** A task with schedules. */
export interface ScheduledTask<ID extends string, Data, More = {}> {
  readonly schedules: Readonly<Record<ID, TaskRepeat>>;
  /** Stores a schedule that is declared, or replaces it. The payload is that of its jobs. */
  upsertSchedule(
    queue: { readonly name: string; upsertJobScheduler(id: string, repeat: any, template?: any): Promise<any> },
    id: ID,
    data: Data,
    ...opts: OptsWith<ScheduleOptions, More>
  ): Promise<Job | undefined>;
}
`

// taskDeclarations are those of the module's tasks, and the types that they need.
func (b *typescript) taskDeclarations(p *model.Package) string {
	names := moduleNames(p)
	var out strings.Builder
	out.WriteString(tsTaskHelpers)
	if hasFlows(p) {
		out.WriteString(tsParentHelpers)
	}
	if p.Scheduled() {
		out.WriteString(tsScheduleHelpers)
	}
	for _, q := range p.Queues {
		for _, t := range q.Tasks {
			out.WriteString("\n" + docComment(t.Doc, "") + "export declare const " + names[t] + ": " + b.taskType(t) + ";\n")
		}
	}
	return out.String()
}

// taskType is the type of a task of the module.
func (b *typescript) taskType(t *model.Task) string {
	data := b.whole(t.Payload, "")
	args := []string{tsText(t.Queue), tsText(t.Name), data}
	kind := "TypedTask"
	switch {
	case t.Parent():
		kind, args = "ParentTask", append(args, b.slotTypes(t))
	case t.Node():
		kind = "NodeTask"
	}
	more := b.moreOf(t)
	if more != "" {
		args = append(args, more)
	}
	typ := kind + "<" + strings.Join(args, ", ") + ">"
	if len(t.Schedules) == 0 {
		return typ
	}
	var ids []string
	for _, s := range t.Schedules {
		ids = append(ids, tsText(s.ID))
	}
	args = []string{strings.Join(ids, " | "), data}
	if more != "" {
		args = append(args, more)
	}
	return typ + " & ScheduledTask<" + strings.Join(args, ", ") + ">"
}

// slotTypes is the type of what stands in the slots of a job.
func (b *typescript) slotTypes(t *model.Task) string {
	var out strings.Builder
	out.WriteString("{\n")
	for _, s := range t.Slots {
		node, optional := "TaskNode<"+tsText(s.Queue.Name)+", "+tsText(s.Task.Name)+">", "?"
		switch s.Kind {
		case model.One:
			optional = ""
		case model.Many:
			node += "[]"
		case model.Keyed:
			node = "{ [key: string]: " + node + " }"
		}
		out.WriteString(docComment(s.Field.Doc, "  ") + "  " + tsName(s.Name) + optional + ": " + node + ";\n")
	}
	return out.String() + "}"
}

// moreOf is the type of what a caller passes beside the payload and options, or "".
func (b *typescript) moreOf(t *model.Task) string {
	var members []string
	if hidden := hiddenKeys(t); len(hidden) > 0 {
		var keys []string
		for _, k := range hidden {
			keys = append(keys, k.Field().Name+": "+keyType(k))
		}
		members = append(members, "keys: { "+strings.Join(keys, "; ")+" }")
	}
	if t.Codec != nil {
		members = append(members, "encode: TaskEncode")
	}
	if len(members) == 0 {
		return ""
	}
	return "{ " + strings.Join(members, "; ") + " }"
}

// keyType is the type of a value that the payload does not show.
func keyType(k model.Key) string {
	t, null := k.Field().Type.Actual(), ""
	if t.Kind == model.Pointer {
		t, null = t.Elem.Actual(), " | null"
	}
	number := k.Has(model.WordPriority) || k.Has(model.WordDelay)
	switch {
	case t.Kind == model.Bool:
		return "boolean" + null
	case t.Kind == model.Int && !number:
		return "number | bigint" + null
	case t.Kind == model.Int, t.Kind == model.Float:
		return "number" + null
	}
	return "string" + null
}
