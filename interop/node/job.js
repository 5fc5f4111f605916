// job.*: the operations of the library's Job, on the job of a queue and id.
'use strict';

const { viewJob } = require('./view');

const nothing = () => null;

// As in queue.js.
const plain = {
  retry: [['state', 'opts'], nothing],
  promote: [[], nothing],
  changeDelay: [['delay'], nothing],
  changePriority: [['opts'], nothing],
  remove: [['opts'], nothing],
  updateData: [['data'], nothing],
  updateProgress: [['progress'], nothing],
  log: [['line']],
  clearLogs: [['keepLogs'], nothing],
  getState: [[]],
  isCompleted: [[]],
  isFailed: [[]],
  isDelayed: [[]],
  isWaiting: [[]],
  isActive: [[]],
  isWaitingChildren: [[]],
  getDependencies: [['opts']],
  getDependenciesCount: [['opts']],
  getChildrenValues: [[]],
  getIgnoredChildrenFailures: [[]],
  getFailedChildrenValues: [[]],
  removeUnprocessedChildren: [[], nothing],
  removeChildDependency: [[]],
  removeDeduplicationKey: [[]],
};

function ops(ctx) {
  const all = {
    // 5.x only: the worker that holds the job will not retry it.
    'job.discard': async args => {
      const job = ctx.taken(args);
      if (!job.discard) throw Object.assign(new Error('this version has no Job.discard'), { name: 'NotOffered' });
      job.discard();
    },
    'job.get': async ({ queue, id }) => viewJob(await ctx.job(queue, id)),
    // Waits for the result as a caller does; the queue's events are read from when they were started.
    'job.waitUntilFinished': async ({ queue, id, ttl }) => {
      const job = await ctx.job(queue, id);
      return job.waitUntilFinished(await require('./events').reader(ctx, queue), ttl);
    },
  };
  for (const [name, [names, view = v => v]] of Object.entries(plain)) {
    all['job.' + name] = async args => {
      const job = await ctx.job(args.queue, args.id);
      if (!job[name]) throw Object.assign(new Error(`this version has no Job.${name}`), { name: 'NotOffered' });
      return view(await job[name](...names.map(n => args[n])));
    };
  }
  return all;
}

module.exports = { ops };
