// events.*: the library's QueueEvents. What it emits becomes event lines.
'use strict';

const { emit } = require('./wire');

// Emitted about the reader itself, not about the queue.
const own = new Set(['ready', 'error', 'ioredis:close', 'ioredis:ready', 'newListener', 'removeListener']);

// reader starts the reading of a queue's events, from after the given place,
// or else from now on. It is not left to the first blocking read what now is.
async function reader(ctx, queue, after) {
  let open = ctx.events.get(queue);
  if (open) return open;
  if (!after) {
    const last = await ctx.connection.xrevrange(`${ctx.prefix}:${queue}:events`, '+', '-', 'COUNT', 1);
    after = last.length ? last[0][0] : '0-0';
  }
  open = new ctx.lib.QueueEvents(queue, ctx.with({ lastEventId: after }));
  const pass = open.emit.bind(open);
  open.emit = (name, ...args) => {
    if (name === 'error') console.error(`events of ${queue}:`, args[0]);
    if (!own.has(name) && !name.includes(':')) {
      const [fields, id] = args.length > 1 ? args : [{}, args[0]];
      emit({ event: 'queue', queue, name, id, fields });
    }
    return pass(name, ...args);
  };
  ctx.events.set(queue, open);
  await open.waitUntilReady();
  return open;
}

function ops(ctx) {
  return {
    'events.start': async ({ queue, after }) => {
      await reader(ctx, queue, after);
    },
    'events.close': async ({ queue }) => {
      const open = ctx.events.get(queue);
      ctx.events.delete(queue);
      if (open) await open.close();
    },
  };
}

module.exports = { ops, reader };
