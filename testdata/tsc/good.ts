// How Node programs use the declarations. All of it must compile.
import { randomUUID } from "node:crypto";

import { FlowProducer, Queue, Worker } from "bullmq";

import type {
  Picture,
  Render,
  TaskData,
  TaskResult,
  TypedJob,
  TypedProcessor,
  TypedQueue,
} from "./TypesForNodePrograms/gen/tasks.gen";
import { processor as picturesProcessor, jobTask, renderTask } from "./TypesForNodePrograms/gen/tasks.gen";
import {
  archiveTask,
  buildReportTask,
  fetchLogoTask,
  notifyTask,
  raceTask,
  renderPageTask,
  type TypedFlow,
} from "./FlowsOfEveryShape/gen/tasks.gen";
import { sendWelcomeTask } from "./EveryDirectiveOnOneTask/gen/tasks.gen";
import { dedupTask, intTask, namedTask } from "./KeysOfEveryKind/gen/tasks.gen";
import { allTask, cardTask, reportTask } from "./CodecsOfEveryForm/gen/tasks.gen";
import { invoiceTask } from "./SchedulesOfEveryKind/gen/tasks.gen";
import type { TypedQueue as EmailQueue } from "./EveryDirectiveOnOneTask/gen/tasks.gen";
import type { Coded, Report, TypedJob as CodedJob, TypedQueue as CodedQueue } from "./CodecsOfEveryForm/gen/tasks.gen";
import { processor as welcomeProcessor, type JobName, type TypedJob as WelcomeJob } from "./UpgradesOfEveryForm/gen/tasks.gen";

export const pictures: TypedQueue<"pictures"> = new Queue<any, any, any>("pictures");
export const emails: EmailQueue<"emails"> = new Queue<any, any, any>("emails");

export const render: Render = {
  page: 1,
  format: "png",
  text: '"png"',
  wait: 1000,
  at: new Date().toISOString(),
  big: "9007199254740993",
  data: null,
  raw: { any: ["JSON"] },
  tags: null,
  maybe: ["a", null],
  pair: [0.5, 1],
  many: [1, 2, 3],
  labels: { a: "b" },
  byId: { 7: null },
  item: { Width: 1, Height: 2 },
  inline: [{ a: 1, b: null }],
  "page-2": { Items: [{ Width: 1, Height: 2 }] },
  custom: { r: 1 },
};

export async function produce(): Promise<string | undefined> {
  const job = await pictures.add("render", render, { delay: 1000, priority: 3 });
  const page: number = job.data.page;
  const url: string = job.returnvalue.url;
  await pictures.add("job", {});
  await pictures.addBulk([
    { name: "render", data: render, opts: { attempts: 3 } },
    { name: "job", data: {} },
  ]);
  await emails.add("send-welcome", { id: "1a", userId: "u", rank: 0, at: "2024-01-01T00:00:00Z" });
  await pictures.pause();
  return `${page} ${url} ${await pictures.count()} ${job.id}`;
}

// A comparison of the name tells the type of the data.
export function describe(job: TypedJob<"pictures">): string {
  switch (job.name) {
    case "render": {
      const format: "png" | "jpeg" = job.data.format;
      const maybe: (string | null)[] | null | undefined = job.data.maybe;
      return `${format} ${maybe?.length} ${job.data.until ?? "never"}`;
    }
    case "job":
      return job.name;
    default: {
      const nothing: never = job;
      return nothing;
    }
  }
}

// What a handler returns is tied to the name of its job.
export const processor: TypedProcessor<"pictures"> = picturesProcessor("pictures", {
  render: async (job, token) => {
    const picture: Picture = { url: `${job.data.page} ${token}`, parts: [null], grid: [[], null] };
    return picture;
  },
  job: () => null,
});

export const silent = picturesProcessor("all things", {
  "sweep all": async (job) => job.data?.forEach((name) => name.toUpperCase()),
});

export const worker = new Worker("pictures", processor);
export const silentWorker = new Worker<any, any, any>("all things", silent);

export async function everyJob(): Promise<number> {
  let pages = 0;
  for (const job of await pictures.getJobs(["waiting"], 0, 10)) {
    if (job.name === "render") pages += job.data.page;
  }
  const one = await pictures.getJob("1");
  return one?.name === "render" ? one.data.page + pages : pages;
}

export const data: TaskData<"counts", "count"> = { a: 1.5 };
export const result: TaskResult<"counts", "count"> = 2;

// A worker meets jobs of earlier names, with the data that they were added with.
export const welcome = welcomeProcessor("emails", {
  "send-welcome-3": async (job) => {
    const name: "send-welcome-3" | "send-welcome-next" = job.name;
    return { ID: name + job.data.userId + job.data.tags?.length };
  },
  "send-welcome-2": async (job) => ({ ID: job.data.userId + job.data.tags?.charAt(0) }),
  "send-welcome": async (job) => ({ ID: job.data.user }),
  "send greeting": async (job) => ({ ID: job.data.user }),
  raw: async (job) => ({ ID: typeof job.data }),
});
export const earlier: JobName<"emails"> = "send greeting";
export const counted = (job: WelcomeJob<"numbers", "count">): number => job.data.N;

// A child that may be in several slots says by its id in which one it is.
export const report: TypedFlow<"reports", "build-report"> = {
  queueName: "reports",
  name: "build-report",
  data: { customer: "c", rank: 0 },
  children: [
    { queueName: "assets", name: "fetch-logo", data: { of: "acme" }, opts: { ignoreDependencyOnFailure: true } },
    {
      queueName: "reports",
      name: "render-page",
      data: { number: 1 },
      opts: { jobId: `pages.0.${randomUUID()}`, failParentOnFailure: true, attempts: 3 },
    },
  ],
};

export const archive: TypedFlow<"archive", "archive"> = {
  queueName: "archive",
  name: "archive",
  data: {},
  children: [
    { ...report, opts: { failParentOnFailure: true, priority: 1 } },
    {
      queueName: "assets",
      name: "fetch-logo",
      data: { of: "acme" },
      opts: { jobId: `one.0.${randomUUID()}`, removeDependencyOnFailure: true },
    },
    {
      queueName: "assets",
      name: "fetch-logo",
      data: { of: "acme" },
      opts: { jobId: `keyed.any key.${randomUUID()}`, removeDependencyOnFailure: true },
    },
  ],
};

export async function flows(producer: FlowProducer): Promise<void> {
  await producer.add(report);
  await producer.addBulk([report, archive]);
}

// What is stored of a task with a codec is opened before it is used. Plain data may be added.
const unpack = <T>(stored: Coded<T>): T => stored as T;
export const text = (job: CodedJob<"q", "report">): string => unpack<Report>(job.data).Text;
export const coded: CodedQueue<"q"> = new Queue<any, any, any>("q");
export const addCoded = () => Promise.all([coded.add("report", { Text: "plain" }), coded.add("card-2", { $aesgcm: {} })]);

// Tasks add jobs with what Go declares of them.
export async function add(queue: Queue, producer: FlowProducer): Promise<string | undefined> {
  const job = await renderTask.add(queue, render);
  const page: number = job.data.page;
  await renderTask.add(pictures, render, { attempts: 9, backoff: null, delay: undefined, gen: { timeout: null } });
  await jobTask.addBulk(queue, [{}, {}], { priority: 1 });
  await renderTask.addBulk(queue, [render], (data, i) => ({ jobId: `page-${data.page}-${i}` }));
  await queue.addBulk([renderTask.job(render), jobTask.job({})]);
  const welcome = { id: "1a", userId: "u", rank: 0, at: "2024-01-01T00:00:00Z" };
  await queue.add("send-welcome", welcome, sendWelcomeTask.options(welcome, { deduplication: { id: "mine" } }));
  await queue.add("send-welcome", welcome, sendWelcomeTask.defaults);
  const pages = [renderPageTask.node({ number: 1 }), renderPageTask.node({ number: 2 }, { failParentOnFailure: true })];
  const logo = fetchLogoTask.node({ of: "acme" });
  await buildReportTask.addFlow(producer, { customer: "c", rank: 0 }, { logo, pages, charts: { a: pages[0] } }, { attempts: 1 });
  const root = buildReportTask.node({ customer: "c", rank: 0 }, { logo, warnings: [notifyTask.node({ to: "ann" })] });
  await producer.addBulk([root, archiveTask.node({}, { report: root, one: logo })]);
  await raceTask.addFlow(producer, {}, { judge: pages[0], band: notifyTask.node({ to: "ann" }) });
  return job.id ?? `${page} ${renderTask.jobId(render)} ${sendWelcomeTask.deduplicationId(welcome)}`;
}

// What the payload does not show, and what a codec makes, is passed.
export async function addMore(queue: Queue): Promise<void> {
  const named = { ID: "x", Rank: 1 };
  await namedTask.add(queue, named, { keys: { At: "2026-01-02T03:04:05Z" }, attempts: 2 });
  await namedTask.addBulk(queue, [named], () => ({ keys: { At: "2026-01-02T03:04:05Z" } }));
  intTask.jobId({ ID: "x", Rank: 1, Wait: 1 });
  dedupTask.deduplicationId({ A: "", B: "", C: "9007199254740993", D: true, E: 1.5, F: "2026-01-02T03:04:05Z", J: "2026-01-02T03:04:05Z", K: "" });
  await reportTask.add(queue, { Text: "plain" }, { encode: (text, { queue, job, part }) => ({ $mine: [text, queue, job, part] }) });
  await reportTask.add(queue, { Text: "plain" }, { encode: (text) => JSON.parse(text) });
  reportTask.options({ Text: "plain" });
  allTask.node({}, { card: cardTask.node({ number: "1" }, { encode: (text) => ({ $mine: text }) }) });
  await invoiceTask.upsertSchedule(queue, "last day", { customer: "all" }, { priority: 3 });
}
