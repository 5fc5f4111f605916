// What the declarations keep Node programs from. Each line with a comment must
// not compile, with those words.
import type { FlowProducer, Queue } from "bullmq";
import { jobTask, processor, renderTask } from "./TypesForNodePrograms/gen/tasks.gen";
import type { TypedJob, TypedProcessor, TypedQueue, TaskData, Picture } from "./TypesForNodePrograms/gen/tasks.gen";
import { archiveTask, buildReportTask, fetchLogoTask, renderPageTask } from "./FlowsOfEveryShape/gen/tasks.gen";
import type { TypedFlow } from "./FlowsOfEveryShape/gen/tasks.gen";
import { dedupTask, namedTask } from "./KeysOfEveryKind/gen/tasks.gen";
import { reportTask } from "./CodecsOfEveryForm/gen/tasks.gen";
import { invoiceTask } from "./SchedulesOfEveryKind/gen/tasks.gen";
import { render, report } from "./good";
import type { TypedJob as CodedJob, TypedQueue as CodedQueue } from "./CodecsOfEveryForm/gen/tasks.gen";
import { processor as welcomeProcessor } from "./UpgradesOfEveryForm/gen/tasks.gen";
import type { TypedJob as WelcomeJob, TypedQueue as WelcomeQueue } from "./UpgradesOfEveryForm/gen/tasks.gen";

declare const pictures: TypedQueue<"pictures">;
declare const job: TypedJob<"pictures">;

export type NoSuchQueue = TypedQueue<"picture">; // error: does not satisfy the constraint
export type NoSuchTask = TaskData<"pictures", "rendr">; // error: does not satisfy the constraint

void pictures.add("rendr", render); // error: not assignable to parameter of type
void pictures.add("render", {}); // error: not assignable to parameter of type
void pictures.add("job", render); // error: not assignable to
void pictures.add("render", { ...render, page: "1" }); // error: not assignable to
void pictures.add("render", { ...render, format: "gif" }); // error: not assignable to
void pictures.add("render", { ...render, pair: [1] }); // error: not assignable to
void pictures.add("render", { ...render, big: 1 }); // error: not assignable to
void pictures.add("render", { ...render, format: null }); // error: not assignable to
void pictures.add("render", { ...render, format: undefined }); // error: not assignable to
void pictures.add("render", { ...render, custom: "blue" }); // error: not assignable to
void pictures.add("render", { ...render, other: 1 }); // error: may only specify known properties
void pictures.add("render", render, { prio: 1 }); // error: may only specify known properties
void pictures.addBulk([{ name: "job", data: render }]); // error: not assignable to

export const unknownData: number = job.data.width; // error: does not exist
if (job.name === "rendr") throw new Error(); // error: no overlap
if (job.name === "render") void job.returnvalue.uri; // error: does not exist
export const work: TypedProcessor<"pictures"> = async () => 1; // error: not assignable to
export const anyResult: TypedProcessor<"pictures"> = async (job: TypedJob<"pictures">) => (job.name === "job" ? null : { url: "" }); // error: not assignable to
void processor("pictures", { job: () => null }); // error: missing in type
void processor("pictures", { job: () => null, render: () => null }); // error: not assignable to
void processor("pictures", { job: () => ({ url: "" }), render: () => ({ url: "", grid: [[], null] }) }); // error: not assignable to
void processor("pictures", { job: () => null, render: () => ({ url: "", grid: [[], null] }), rendr: () => null }); // error: may only specify known properties
void processor("picture", {}); // error: not assignable to parameter of type
export const noPicture: Picture = {}; // error: missing

declare const emails: WelcomeQueue<"emails">;
declare const welcome: WelcomeJob<"emails">;
void emails.add("send-welcome-2", { userId: "u" }); // error: not assignable to parameter of type
void emails.addBulk([{ name: "send-welcome", data: { user: "u" } }]); // error: not assignable to
export const newData: string = welcome.data.userId; // error: 'welcome.data' is of type 'unknown'
if (welcome.name === "send-welcome") void welcome.data.userId; // error: does not exist

type Report = TypedFlow<"reports", "build-report">;
type Child = NonNullable<Report["children"]>[number];
const page = { queueName: "reports", name: "render-page", data: { number: 1 } } as const;
export const noTask: TypedFlow<"reports", "build-reprt"> = report; // error: does not satisfy the constraint
export const noData: Report = { ...report, data: {} }; // error: missing the following properties
export const noQueue: Report = { ...report, queueName: "archive" }; // error: not assignable to type
export const noChild: Child = report; // error: not assignable to type
export const noSlot: Child = { ...page, opts: { failParentOnFailure: true } }; // error: not assignable to type
export const noPolicy: Child = { ...page, opts: { jobId: "pages.0.a-b-c-d-e" } }; // error: not assignable to type
export const noIndex: Child = { ...page, opts: { jobId: "pages.one.a-b-c-d-e", failParentOnFailure: true } }; // error: not assignable to type
export const noOptions: Child = { queueName: "assets", name: "fetch-logo", data: { of: "acme" } }; // error: not assignable to type

declare const sealed: CodedJob<"q", "report">;
declare const coded: CodedQueue<"q">;
export const unopened: string = sealed.data.Text; // error: does not exist on type
void coded.add("report", { Txt: "plain" }); // error: may only specify known properties

declare const queue: Queue;
declare const producer: FlowProducer;
void renderTask.add(queue, {}); // error: not assignable to parameter of type
void renderTask.add(queue, { ...render, page: "1" }); // error: not assignable to
void renderTask.add(queue, render, { attempt: 1 }); // error: may only specify known properties
void renderTask.add(queue, render, { attempts: "3" }); // error: not assignable to
void renderTask.add(queue, render, { repeat: { every: 1 } }); // error: may only specify known properties
void renderTask.add(producer, render); // error: not assignable to parameter of type
void renderTask.addBulk(queue, [render], { jobId: "a" }); // error: not assignable to
void jobTask.addBulk(queue, [render]); // error: not assignable to
void renderTask.jobId({}); // error: not assignable to parameter of type
void namedTask.add(queue, { ID: "x", Rank: 1 }); // error: Expected 3 arguments
void namedTask.add(queue, { ID: "x", Rank: 1 }, { keys: { At: 1 } }); // error: not assignable to
void namedTask.options({ ID: "x", Rank: 1 }, {}); // error: missing in type
void dedupTask.node; // error: does not exist on type
void reportTask.add(queue, { Text: "plain" }); // error: Expected 3 arguments
void reportTask.add(queue, { Text: "plain" }, { encode: async (text) => ({ $mine: text }) }); // error: not assignable to
void invoiceTask.upsertSchedule(queue, "yearly", { customer: "" }); // error: not assignable to
void welcomeProcessor("numbers", { "count-all": () => null }); // error: is missing the following properties

// A flow without a child that it cannot do without does not compile.
const logo = fetchLogoTask.node({ of: "acme" });
const data = { customer: "c", rank: 0 };
void buildReportTask.addFlow(producer, data, {}); // error: missing in type
void buildReportTask.addFlow(producer, data, { logo: renderPageTask.node({ number: 1 }) }); // error: not assignable to
void buildReportTask.addFlow(producer, data, { logo, pages: logo }); // error: is missing the following properties
void buildReportTask.addFlow(producer, data, { logo, page: [] }); // error: may only specify known properties
void buildReportTask.add; // error: does not exist on type
void buildReportTask.addFlow(producer, data, { logo }, { deduplication: { id: "a" } }); // error: may only specify known properties
void archiveTask.node({}, { one: logo }); // error: missing in type
void fetchLogoTask.node({ of: "acme" }, { parent: { id: "1", queue: "q" } }); // error: may only specify known properties
export const childless: Report = { queueName: "reports", name: "build-report", data }; // error: missing in type
export const noLogo: Report = { ...report, children: [] }; // error: not assignable to type
export const below: TypedFlow<"archive", "archive">["children"][0] = { queueName: "reports", name: "build-report", data, opts: { failParentOnFailure: true } }; // error: not assignable to type
