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
import type { TypedFlow } from "./FlowsOfEveryShape/gen/tasks.gen";
import type { TypedQueue as EmailQueue } from "./EveryDirectiveOnOneTask/gen/tasks.gen";
import type { Coded, Report, TypedJob as CodedJob, TypedQueue as CodedQueue } from "./CodecsOfEveryForm/gen/tasks.gen";
import type { JobName, Receipt, TypedJob as WelcomeJob, TypedProcessor as WelcomeProcessor } from "./UpgradesOfEveryForm/gen/tasks.gen";

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

export const processor: TypedProcessor<"pictures"> = async (job) => {
  if (job.name === "render") {
    const picture: Picture = { url: String(job.data.page), parts: [null], grid: [[], null] };
    return picture;
  }
  return null;
};

export const silent: TypedProcessor<"all things"> = async (job) => {
  job.data?.forEach((name) => name.toUpperCase());
};

export const worker = new Worker<any, any, any>("pictures", processor);

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
export const welcome: WelcomeProcessor<"emails"> = async (job): Promise<Receipt> => {
  switch (job.name) {
    case "send-welcome-3":
    case "send-welcome-next":
      return { ID: job.data.userId + job.data.tags?.length };
    case "send-welcome-2":
      return { ID: job.data.userId + job.data.tags?.charAt(0) };
    case "raw":
      return { ID: typeof job.data };
    default:
      return { ID: job.data.user };
  }
};
export const earlier: JobName<"emails"> = "send greeting";
export const counted = (job: WelcomeJob<"numbers", "count">): number => job.data.N;

// A child that may be in several slots says by its id in which one it is.
export const report: TypedFlow<"reports", "build-report"> = {
  queueName: "reports",
  name: "build-report",
  data: { customer: "c", rank: 0 },
  children: [
    {
      queueName: "reports",
      name: "render-page",
      data: { number: 1 },
      opts: { jobId: `pages.0.${randomUUID()}`, failParentOnFailure: true, attempts: 3 },
    },
    { queueName: "assets", name: "fetch-logo", data: { of: "acme" }, opts: { ignoreDependencyOnFailure: true } },
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
