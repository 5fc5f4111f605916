// Jobs as the protocol shows them: what the library read, under its own names.
'use strict';

const fields = [
  'id', 'name', 'data', 'opts', 'timestamp', 'delay', 'priority', 'progress',
  'attemptsMade', 'attemptsStarted', 'stalledCounter', 'processedOn', 'finishedOn', 'processedBy',
  'returnvalue', 'failedReason', 'stacktrace', 'deferredFailure',
  'parentKey', 'parent', 'repeatJobKey', 'deduplicationId',
];

function viewJob(job) {
  if (!job) return null;
  const view = {};
  for (const f of fields) {
    if (job[f] !== undefined && job[f] !== null) view[f] = job[f];
  }
  return view;
}

function viewFlow(node) {
  if (!node) return null;
  const view = { job: viewJob(node.job), queue: node.job.queueName };
  if (node.children) view.children = node.children.map(viewFlow);
  return view;
}

module.exports = { viewJob, viewFlow };
