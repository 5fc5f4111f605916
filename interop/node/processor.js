// Processors that follow a script: for each name of a job a list of runs, and
// for each run a list of steps. The nth start of a job is the nth run, or the
// last.
'use strict';

const { emit } = require('./wire');
const { viewJob } = require('./view');
const codec = require('./codec');

// Keys that were released, and who waits for one that was not.
const released = new Set();
const holding = new Map();

function release(key) {
  released.add(key);
  for (const go of holding.get(key) || []) go();
  holding.delete(key);
}

// held waits until the key is released, or the run is cancelled.
function held(key, signal) {
  if (released.has(key)) return Promise.resolve();
  return new Promise((resolve, reject) => {
    if (!holding.has(key)) holding.set(key, []);
    holding.get(key).push(resolve);
    if (signal) signal.addEventListener('abort', () => reject(new Error(signal.reason || 'cancelled')), { once: true });
  });
}

// Steps after which the run goes on.
const onward = {
  progress: ({ job }, { value }) => job.updateProgress(value),
  log: ({ job }, { line }) => job.log(line),
  updateData: ({ job }, { data }) => job.updateData(data),
  hold: async ({ job, key, signal }, step) => {
    emit({ event: 'held', worker: key, queue: job.queueName, key: step.key, job: viewJob(job) });
    await held(step.key, signal);
  },
};

// Steps that end the run: with a value, or an error.
const last = {
  return: async (run, { value }) => value,
  echo: async ({ job }) => job.data,
  // The payload with more members.
  echoWith: async ({ job }, { more }) => ({ ...job.data, ...more }),
  // What a task with a codec stores: opened, and made.
  open: async ({ job }, { keys, bound }) => codec.open(job.data, keys, bound),
  encode: async (run, { value, kid, keys, bound }) => {
    const packed = codec.gzip(value);
    return kid ? codec.encrypt(packed, kid, keys, bound) : packed;
  },
  childrenValues: ({ job }) => job.getChildrenValues(),
  throw: async (run, { message }) => {
    throw new Error(message);
  },
  unrecoverable: async ({ lib }, { message }) => {
    throw new lib.UnrecoverableError(message);
  },
  delay: async ({ lib, job, token }, { ms }) => {
    await job.moveToDelayed(Date.now() + ms, token);
    throw new lib.DelayedError();
  },
  wait: async ({ lib, job, token }) => {
    await job.moveToWait(token);
    throw new lib.WaitingError();
  },
  rateLimit: async ({ lib, worker }, { ms }) => {
    await worker().rateLimit(ms);
    throw new lib.RateLimitError();
  },
  // Waits for the children, if any is pending; else the next step follows.
  waitChildren: async ({ lib, job, token }) => {
    if (await job.moveToWaitingChildren(token)) throw new lib.WaitingChildrenError();
    return goOn;
  },
};
const goOn = Symbol('go on');

function processor(ctx, key, handlers) {
  return async (job, token, signal) => {
    const runs = handlers[job.name];
    if (!runs) throw new ctx.lib.UnrecoverableError(`no handler for ${job.name}`);
    const run = { lib: ctx.lib, job, token, signal, key, worker: () => ctx.worker(key) };
    for (const step of runs[Math.min(job.attemptsStarted, runs.length) - 1]) {
      if (onward[step.do]) {
        await onward[step.do](run, step);
        continue;
      }
      if (!last[step.do]) throw new ctx.lib.UnrecoverableError(`unknown step ${step.do}`);
      const value = await last[step.do](run, step);
      if (value !== goOn) return value;
    }
    return undefined;
  };
}

module.exports = { processor, release };
