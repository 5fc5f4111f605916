// task.* and processor.*: the module that is generated for Node programs.
'use strict';

const { viewFlow, viewJob } = require('./view');
const { processor } = require('./processor');
const { report, workerOptions } = require('./worker');
const { gzip } = require('./codec');

const generated = import('../gen/tasks.gen.js');

// options are those of a request, with functions in the place of their names.
function options(opts) {
  if (!opts || opts.encode !== 'gzip') return opts;
  return { ...opts, encode: text => gzip(JSON.parse(text)) };
}

// nodes makes the jobs in slots of {task, data, opts, children}.
function nodes(tasks, spec) {
  if (Array.isArray(spec)) return spec.map(s => nodes(tasks, s));
  if (!spec || typeof spec !== 'object') return spec;
  if (!spec.task) return Object.fromEntries(Object.entries(spec).map(([k, s]) => [k, nodes(tasks, s)]));
  const task = tasks[spec.task];
  return spec.children ? task.node(spec.data, nodes(tasks, spec.children), spec.opts) : task.node(spec.data, spec.opts);
}

function ops(ctx) {
  return {
    'task.add': async ({ task, queue, data, opts }) =>
      viewJob(await (await generated)[task].add(ctx.queue(queue), data, options(opts))),
    'task.addBulk': async ({ task, queue, list, opts, each }) =>
      (await (await generated)[task].addBulk(ctx.queue(queue), list, each ? (_, i) => options(each[i]) : options(opts))).map(viewJob),
    'task.addFlow': async ({ task, data, children, opts }) => {
      const tasks = await generated;
      return viewFlow(await tasks[task].addFlow(ctx.flow(), data, nodes(tasks, children), opts));
    },
    'task.upsertSchedule': async ({ task, queue, id, data, opts }) =>
      viewJob(await (await generated)[task].upsertSchedule(ctx.queue(queue), id, data, opts)),
    // Members of a task, or what they return.
    'task.read': async ({ task, members }) => {
      const found = (await generated)[task];
      return Object.fromEntries(members.map(([name, ...args]) => [name, args.length ? found[name](...args) : found[name]]));
    },
    // What members of a task return for each list of arguments.
    'task.readMany': async ({ task, members, list }) => {
      const found = (await generated)[task];
      return list.map(args => Object.fromEntries(members.map(name => [name, found[name](...args)])));
    },
    // A worker with the scripts of handlers by the names of jobs.
    'processor.start': async args => {
      const { processor: dispatch } = await generated;
      const run = processor(ctx, args.worker, args.handlers);
      const handlers = Object.fromEntries(args.names.map(name => [name, run]));
      const worker = new ctx.lib.Worker(args.queue, dispatch(args.queue, handlers), workerOptions(ctx, args));
      ctx.workers.set(args.worker, worker);
      report(worker, args.worker);
      await worker.waitUntilReady();
      worker.run().catch(err => worker.emit('error', err));
    },
  };
}

module.exports = { ops };
