// flow.*: the library's FlowProducer.
'use strict';

const { viewFlow } = require('./view');

function ops(ctx) {
  return {
    'flow.add': async ({ flow, opts }) => viewFlow(await ctx.flow().add(flow, opts)),
    'flow.addBulk': async ({ flows }) => (await ctx.flow().addBulk(flows)).map(viewFlow),
    // An undefined depth would not be the library's default.
    'flow.getFlow': async ({ queue, id, ...sizes }) =>
      viewFlow(await ctx.flow().getFlow({ queueName: queue, id, prefix: ctx.prefix, ...sizes })),
  };
}

module.exports = { ops };
