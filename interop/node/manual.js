// worker.*, by hand: jobs are taken and finished by requests. A job that was
// taken is known by its queue and id until it is finished.
'use strict';

const { viewJob } = require('./view');
const { workerOptions, report } = require('./worker');

let tokens = 0;

// error is what a processor would have thrown. Its stack is its text, unless
// the request says otherwise.
function thrown(lib, { message, unrecoverable, stack }) {
  const err = unrecoverable ? new lib.UnrecoverableError(message) : new Error(message);
  err.stack = stack === undefined ? message : stack;
  return err;
}

function ops(ctx) {
  // finish settles a held job; it stays held when that is refused.
  const finish = async (args, settle) => {
    const job = ctx.taken(args);
    const result = await settle(job, args.token === undefined ? job.token : args.token);
    ctx.drop(args);
    return result === undefined ? null : result;
  };

  // taken is the job of what a call answered that may have taken one: its
  // fields and id. It is held under the token of the one that was finished.
  const taken = (worker, token, answer) => {
    const [fields, id] = answer || [];
    if (!fields || !id) return null;
    const job = ctx.lib.Job.fromJSON(worker, fields, id);
    job.token = token;
    ctx.hold(job);
    return viewJob(job);
  };

  return {
    // Opens a worker that takes nothing by itself.
    'worker.open': async args => {
      const worker = new ctx.lib.Worker(args.queue, null, workerOptions(ctx, args));
      ctx.workers.set(args.worker, worker);
      report(worker, args.worker);
      await worker.waitUntilReady();
    },
    // Takes the next job, if there is one; null: there is none. It asks the
    // server whatever earlier answers said.
    'worker.getNextJob': async args => {
      const worker = ctx.worker(args.worker);
      worker.limitUntil = 0;
      worker.drained = false;
      worker.blockUntil = 0;
      const job = await worker.getNextJob(args.token || `token-${++tokens}`, { block: false });
      if (!job) return null;
      ctx.hold(job);
      return viewJob(job);
    },
    'worker.moveToCompleted': args =>
      finish(args, async (job, token) => {
        const answer = await job.moveToCompleted(args.value, token, Boolean(args.next));
        return args.next && taken(ctx.worker(args.worker), token, answer);
      }),
    'worker.moveToFailed': args =>
      finish(args, async (job, token) => {
        const answer = await job.moveToFailed(thrown(ctx.lib, args), token, Boolean(args.next));
        return args.next && taken(ctx.worker(args.worker), token, answer);
      }),
    'worker.moveToDelayed': args => finish(args, (job, token) => job.moveToDelayed(args.timestamp, token)),
    'worker.moveToWait': args =>
      finish(args, async (job, token) => {
        await job.moveToWait(token);
      }),
    // True: it waits for children; false: none is pending, and it is still held.
    'worker.moveToWaitingChildren': async args => {
      const job = ctx.taken(args);
      const moved = await job.moveToWaitingChildren(args.token === undefined ? job.token : args.token, args.opts);
      if (moved) ctx.drop(args);
      return moved;
    },
    'worker.extendLock': async args => {
      const job = ctx.taken(args);
      return job.extendLock(args.token === undefined ? job.token : args.token, args.duration);
    },
    // Forgets a held job, as a worker does that is gone.
    'worker.forget': async args => {
      ctx.drop(args);
    },
    // Looks for stalled jobs once; their ids are the worker's events.
    'worker.stalledCheck': async ({ worker }) => {
      await ctx.worker(worker).moveStalledJobsToWait();
    },
  };
}

module.exports = { ops };
