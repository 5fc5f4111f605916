// scheduler.*: the job schedulers of the library's Queue.
'use strict';

const { viewJob } = require('./view');

function ops(ctx) {
  return {
    'scheduler.upsert': async ({ queue, id, repeat, template }) =>
      viewJob(await ctx.queue(queue).upsertJobScheduler(id, repeat, template)),
    'scheduler.get': async ({ queue, id }) => ctx.queue(queue).getJobScheduler(id),
    'scheduler.list': async ({ queue, start, end, asc }) => ctx.queue(queue).getJobSchedulers(start, end, asc),
    'scheduler.count': async ({ queue }) => ctx.queue(queue).getJobSchedulersCount(),
    'scheduler.remove': async ({ queue, id }) => ctx.queue(queue).removeJobScheduler(id),
  };
}

module.exports = { ops };
