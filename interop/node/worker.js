// worker.*: the library's Worker, with a processor that does what it was told.
'use strict';

const { emit, failure } = require('./wire');
const { viewJob } = require('./view');
const { processor, release } = require('./processor');

// What a worker emits about jobs, and what becomes of the arguments.
const local = {
  active: job => ({ job: viewJob(job) }),
  completed: (job, result) => ({ job: viewJob(job), result }),
  failed: (job, err) => ({ job: viewJob(job), error: failure(err) }),
  progress: (job, progress) => ({ job: viewJob(job), progress }),
  stalled: id => ({ id }),
  drained: () => ({}),
  paused: () => ({}),
  resumed: () => ({}),
  closed: () => ({}),
  lockRenewalFailed: ids => ({ ids }),
  error: err => ({ error: failure(err) }),
};

// workerOptions are options of the library as they are, but for strategies of
// backoff: lists of waits by their names.
function workerOptions(ctx, { opts = {}, backoff }) {
  const settings = backoff && {
    backoffStrategy: (made, type) => {
      const list = backoff[type];
      if (!list) throw new Error(`no backoff strategy ${type}`);
      return list[Math.min(made, list.length) - 1];
    },
  };
  return ctx.with({ autorun: false, ...opts, ...(settings && { settings }) });
}

// report makes event lines of what a worker emits.
function report(worker, key) {
  for (const [name, view] of Object.entries(local)) {
    worker.on(name, (...args) => emit({ event: 'worker', worker: key, queue: worker.name, name, ...view(...args) }));
  }
}

function ops(ctx) {
  return {
    'worker.start': async args => {
      if (ctx.workers.has(args.worker)) throw new Error(`worker ${args.worker} was started already`);
      const handlers = processor(ctx, args.worker, args.handlers || {});
      const worker = new ctx.lib.Worker(args.queue, handlers, workerOptions(ctx, args));
      ctx.workers.set(args.worker, worker);
      report(worker, args.worker);
      await worker.waitUntilReady();
      worker.run().catch(err => worker.emit('error', err));
    },
    'worker.pause': async ({ worker, doNotWaitActive }) => ctx.worker(worker).pause(doNotWaitActive),
    'worker.resume': async ({ worker }) => {
      await ctx.worker(worker).resume();
    },
    'worker.isPaused': async ({ worker }) => ctx.worker(worker).isPaused(),
    'worker.isRunning': async ({ worker }) => ctx.worker(worker).isRunning(),
    'worker.close': async ({ worker, force }) => {
      const open = ctx.worker(worker);
      ctx.workers.delete(worker);
      await open.close(force);
    },
    'worker.setConcurrency': async ({ worker, concurrency }) => {
      ctx.worker(worker).concurrency = concurrency;
    },
    'worker.rateLimit': async ({ worker, ms }) => ctx.worker(worker).rateLimit(ms),
    'worker.cancelJob': async ({ worker, id, reason }) => ctx.worker(worker).cancelJob(id, reason),
    'worker.cancelAllJobs': async ({ worker, reason }) => ctx.worker(worker).cancelAllJobs(reason),
    // Lets all processors go on that hold with this key, now or later.
    'worker.release': async ({ key }) => release(key),
  };
}

module.exports = { ops, workerOptions, report };
