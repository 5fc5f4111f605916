// queue.*: the operations of the library's Queue.
'use strict';

const { viewJob } = require('./view');

const asJobs = jobs => jobs.map(viewJob);
const nothing = () => null;

// Operations that pass their arguments on: the names of the arguments in the
// library's order, and what is made of the answer.
const plain = {
  pause: [[], nothing],
  resume: [[], nothing],
  isPaused: [[]],
  isMaxed: [[]],
  count: [[]],
  drain: [['delayed'], nothing],
  clean: [['grace', 'limit', 'type']],
  remove: [['id', 'opts']],
  rateLimit: [['ms'], nothing],
  removeRateLimitKey: [[]],
  getRateLimitTtl: [['maxJobs']],
  setGlobalConcurrency: [['concurrency'], nothing],
  getGlobalConcurrency: [[]],
  removeGlobalConcurrency: [[], nothing],
  setGlobalRateLimit: [['max', 'duration'], nothing],
  getGlobalRateLimit: [[]],
  removeGlobalRateLimit: [[], nothing],
  obliterate: [['opts'], nothing],
  retryJobs: [['opts'], nothing],
  promoteJobs: [['opts'], nothing],
  trimEvents: [['maxLength']],
  removeOrphanedJobs: [['count', 'limit']],
  removeDeprecatedPriorityKey: [[], nothing],
  updateJobProgress: [['id', 'progress'], nothing],
  addJobLog: [['id', 'line', 'keepLogs']],
  getDeduplicationJobId: [['dedupId']],
  getDebounceJobId: [['dedupId']],
  removeDeduplicationKey: [['dedupId']],
  removeDebounceKey: [['dedupId']],
  getJob: [['id'], viewJob],
  getJobState: [['id']],
  getJobLogs: [['id', 'start', 'end', 'asc']],
  getDependencies: [['id', 'kind', 'start', 'end']],
  getMeta: [[]],
  getVersion: [[]],
  getMetrics: [['type', 'start', 'end']],
  getWorkers: [[]],
  getWorkersCount: [[]],
  getQueueEvents: [[]],
  exportPrometheusMetrics: [['labels']],
  getDelayedCount: [['timestamp']],
  getRanges: [['types', 'start', 'end', 'asc']],
  getJobs: [['types', 'start', 'end', 'asc'], asJobs],
  // 5.x only
  getRepeatableJobs: [['start', 'end', 'asc']],
  removeRepeatable: [['name', 'repeat', 'id']],
  removeRepeatableByKey: [['key']],
};
for (const state of ['Waiting', 'WaitingChildren', 'Active', 'Prioritized', 'Completed', 'Failed']) {
  plain[`get${state}Count`] = [[]];
}
for (const state of ['Waiting', 'WaitingChildren', 'Active', 'Delayed', 'Prioritized', 'Completed', 'Failed']) {
  plain[`get${state}`] = [['start', 'end'], asJobs];
}

// Operations whose list of types, or priorities, is spread over the arguments.
const spread = {
  getJobCounts: 'types',
  getJobCountByTypes: 'types',
  recordJobCountsMetric: 'types',
};

function ops(ctx) {
  const all = {
    // Opens a queue with options of the library, such as defaultJobOptions.
    'queue.open': async ({ queue, opts }) => {
      await ctx.queue(queue, opts).waitUntilReady();
    },
    'queue.close': async ({ queue }) => {
      const open = ctx.queues.get(queue);
      ctx.queues.delete(queue);
      if (open) await open.close();
    },
    'queue.add': async ({ queue, name, data, opts }) => viewJob(await ctx.queue(queue).add(name, data, opts)),
    'queue.addBulk': async ({ queue, jobs }) => asJobs(await ctx.queue(queue).addBulk(jobs)),
    'queue.getCountsPerPriority': async ({ queue, priorities }) => ctx.queue(queue).getCountsPerPriority(priorities),
    // QueueEventsProducer.publishEvent
    'queue.publishEvent': async ({ queue, name, fields, maxEvents }) => {
      const producer = new ctx.lib.QueueEventsProducer(queue, ctx.with({}));
      await producer.publishEvent({ eventName: name, ...fields }, maxEvents);
      await producer.close();
    },
  };
  for (const [name, [names, view = v => v]] of Object.entries(plain)) {
    all['queue.' + name] = async args => {
      const queue = ctx.queue(args.queue);
      if (!queue[name]) throw Object.assign(new Error(`this version has no Queue.${name}`), { name: 'NotOffered' });
      return view(await queue[name](...names.map(n => args[n])));
    };
  }
  for (const [name, list] of Object.entries(spread)) {
    all['queue.' + name] = async args => ctx.queue(args.queue)[name](...(args[list] || []));
  }
  return all;
}

module.exports = { ops };
