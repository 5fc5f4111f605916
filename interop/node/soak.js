// A Node member of the fleet of interop/soak: a producer or a worker, as a
// process of its own that may be killed or frozen at any moment. It does what
// fleetgo does, and keeps the same journal.
//
//   node soak.js LIBRARY URL ROLE NAME JOURNAL COUNT LOCK
'use strict';

let stop = () => process.exit(0);
process.on('SIGTERM', () => stop());

const fs = require('fs');
const IORedis = require('ioredis');

const [library, url, role, name, path, count, lock] = process.argv.slice(2);
const { Queue, Worker, FlowProducer } = require(library);
const Redis = IORedis.default || IORedis;

const file = fs.openSync(path, 'a');
const write = event => fs.writeSync(file, JSON.stringify({ t: Date.now(), p: name, ...event }) + '\n');
fs.writeFileSync(path + '.up', ''); // signals are heard from now on
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));
const random = n => Math.floor(Math.random() * n);
const connect = () => {
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  connection.on('error', () => {});
  return connection;
};
const silent = object => object.on('error', () => {});

// The test has ended, in whatever way.
process.stdin.on('end', () => process.exit(3)).resume();

async function handle(job) {
  const { key, fails, value, millis } = job.data;
  const attempt = job.attemptsMade + 1;
  write({ e: 'run', k: key, i: job.id, n: attempt });
  if (millis) await sleep(millis);
  if (attempt <= fails) {
    write({ e: 'fail', k: key, i: job.id, n: attempt });
    throw new Error('fails on purpose');
  }
  let sum = 2 * value;
  if (job.queueName === 'soak-parents') {
    for (const child of Object.values(await job.getChildrenValues())) sum += child.value;
  }
  write({ e: 'done', k: key, i: job.id, n: attempt });
  return { value: sum };
}

async function work() {
  const options = (concurrency, limiter) => ({
    ...(limiter && { limiter }),
    connection: connect(),
    concurrency,
    lockDuration: Number(lock),
    stalledInterval: Number(lock),
    maxStalledCount: 10000,
  });
  const workers = [
    new Worker('soak-jobs', handle, options(20)),
    new Worker('soak-parents', handle, options(5)),
    new Worker('soak-ticks', handle, options(1)),
    new Worker('soak-limited', handle, options(5, { max: 10, duration: 1000 })),
  ];
  workers.forEach(silent);
  stop = async () => {
    const late = setTimeout(() => process.exit(3), 60000);
    await Promise.all(workers.map(w => w.close()));
    clearTimeout(late);
    write({ e: 'bye' });
    process.exit(0);
  };
}

function payload(key) {
  const job = { key, fails: 0, value: random(1000), millis: random(4) };
  const kind = random(20);
  if (kind === 0) job.fails = 1 + random(2);
  if (kind === 1) job.fails = 99;
  if (kind === 2) job.millis = 200;
  return job;
}

function options(key) {
  const opts = { attempts: 3, backoff: { type: 'fixed', delay: 20 }, jobId: key };
  const kind = random(6);
  if (kind === 0) opts.delay = random(2000);
  if (kind === 1) opts.priority = 1 + random(10);
  if (kind === 2) opts.lifo = true;
  return opts;
}

// attempt adds jobs; with again, until that is done: each has an id. A flow is
// tried once, since the library adds children of a root that exists already.
// When the server has forgotten its scripts, the library reports as added what
// it did not store: `stored` looks for each job before it counts as acknowledged.
async function attempt(jobs, again, add, stored) {
  do {
    jobs.forEach(({ key, fails, value }) => write({ e: 'try', k: key, f: fails, n: value }));
    try {
      await add();
      for (const { key } of jobs) {
        const there = !stored || await stored(key);
        write({ e: there ? 'ok' : 'missing', k: key });
      }
      return;
    } catch (err) {
      jobs.forEach(({ key }) => write({ e: 'unsure', k: key, x: String(err.message) }));
      await sleep(50);
    }
  } while (again);
}

async function produce() {
  const connection = connect();
  const queue = new Queue('soak-jobs', { connection });
  const parents = new Queue('soak-parents', { connection });
  const flows = new FlowProducer({ connection });
  [queue, parents, flows].forEach(silent);
  const stored = async key => await queue.getJob(key) || await parents.getJob(key);
  for (let n = 0; n < Number(count); ) {
    const key = `${name}-${n}`;
    const kind = random(8);
    if (kind === 0) {
      const root = { key, fails: 0, value: random(1000), millis: 0 };
      const parts = Array.from({ length: 1 + random(4) }, (_, i) => ({ key: `${key}-${i}`, fails: 0, value: random(1000), millis: 0 }));
      const flow = {
        name: 'parent', queueName: 'soak-parents', data: root, opts: { attempts: 3, jobId: key },
        children: parts.map(data => ({ name: 'job', queueName: 'soak-jobs', data, opts: { attempts: 3, jobId: data.key, failParentOnFailure: true } })),
      };
      await attempt([root, ...parts], false, () => flows.add(flow), stored);
      n += 1 + parts.length;
    } else if (kind === 1) {
      const jobs = Array.from({ length: 1 + random(30) }, (_, i) => payload(`${key}-${i}`));
      await attempt(jobs, true, () => queue.addBulk(jobs.map(data => ({ name: 'job', data, opts: options(data.key) }))), stored);
      n += jobs.length;
    } else {
      const job = payload(key);
      await attempt([job], true, () => queue.add('job', job, options(key)));
      n += 1;
    }
  }
  write({ e: 'end' });
  process.exit(0);
}

(role === 'produce' ? produce() : work()).catch(err => {
  console.error(err);
  process.exit(1);
});
