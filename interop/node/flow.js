// flow.*: the library's FlowProducer.
'use strict';

const { viewFlow } = require('./view');

function ops(ctx) {
  return {
    'flow.add': async ({ flow, opts }) => viewFlow(await ctx.flow().add(flow, opts)),
    'flow.addBulk': async ({ flows }) => (await ctx.flow().addBulk(flows)).map(viewFlow),
    'flow.getFlow': async ({ queue, id, depth, maxChildren }) =>
      viewFlow(await ctx.flow().getFlow({ queueName: queue, id, depth, maxChildren, prefix: ctx.prefix })),
  };
}

module.exports = { ops };
