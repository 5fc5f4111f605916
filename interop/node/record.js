// Records what a peer makes of situations, for testdata/vectors:
//
//   node record.js <redis url> < situations.json > situations.jsonl
//
// The database is emptied again and again. A situation is {operation, libs, note,
// args, before}: see testdata/vectors/README.md.
'use strict';

const Redis = require('ioredis');

const peers = { 5: require('bullmq5'), 6: require('bullmq') };
const versions = { 5: require('bullmq5/package.json').version, 6: require('bullmq/package.json').version };
const prefix = 'bull';
const queue = 'q';
const base = `${prefix}:${queue}:`;
const realNow = Date.now;

const server = new Redis(process.argv[2]);
const connection = new Redis(process.argv[2], { maxRetriesPerRequest: null });

// What the peer's connection sent, and what its last script answered.
let sent = [];
let answer;
const send = connection.sendCommand.bind(connection);
connection.sendCommand = (command, ...rest) => {
  const promise = send(command, ...rest);
  if (/^eval/.test(command.name)) {
    Promise.resolve(promise).then(
      (value) => { answer = { value }; },
      (error) => { if (!/NOSCRIPT/.test(error.message)) answer = { value: { error: error.message } }; },
    );
  } else {
    sent.push([command.name, ...command.args.map(String)]);
  }
  return promise;
};

// Values are written shortly: text, a list, a hash as an object of texts, a
// sorted set as {scores: {member: score}}, a set as {members: [...]}.
async function write(state) {
  await server.flushdb();
  for (const [key, value] of Object.entries(state)) {
    if (typeof value === 'string') await server.set(base + key, value);
    else if (Array.isArray(value)) await server.rpush(base + key, ...value);
    else if (value.members) await server.sadd(base + key, ...value.members);
    else if (value.scores) for (const [m, s] of Object.entries(value.scores)) await server.zadd(base + key, s, m);
    else await server.hset(base + key, value);
  }
}

const readers = {
  string: (key) => server.get(key),
  list: (key) => server.lrange(key, 0, -1),
  set: async (key) => (await server.smembers(key)).sort(),
  hash: (key) => server.hgetall(key),
  zset: async (key) => pairs(await server.zrange(key, 0, -1, 'WITHSCORES')).map(([m, s]) => [m, Number(s)]),
  stream: async (key) => (await server.xrange(key, '-', '+')).map(([id, f]) => ({ id, fields: Object.fromEntries(pairs(f)) })),
};

function pairs(flat) {
  return flat.flatMap((v, i) => (i % 2 ? [] : [[v, flat[i + 1]]]));
}

async function snapshot() {
  const state = {};
  for (const key of (await server.keys('*')).sort()) {
    const type = await server.type(key);
    state[key] = { type, value: await readers[type](key) };
    const ttl = await server.pttl(key);
    if (ttl >= 0) state[key].ttl = ttl;
  }
  return state;
}

// The part of a queue or worker that makes single steps: it has another name in each release.
const steps = (q) => q.backend || q.scripts;

function worker(peer, q, opts) {
  const w = new peer.Worker(q.name, null, {
    connection, prefix, autorun: false, skipStalledCheck: true, skipLockRenewal: true,
    lockDuration: opts.lockDuration, limiter: opts.limiter || undefined, name: opts.name || undefined,
  });
  w.on('error', () => {});
  return w;
}

// Each makes one step of a peer; refusals are in what the script answered.
const operations = {
  add: (peer, q, a) => peer.Job.create(q, a.name, JSON.parse(a.data), optionsOf(a)),
  changeDelay: async (peer, q, a) => (await peer.Job.fromId(q, a.jobId)).changeDelay(a.delay),
  changePriority: async (peer, q, a) => (await peer.Job.fromId(q, a.jobId)).changePriority(a),
  cleanJobsInSet: (peer, q, a) => (q.backend
    ? q.backend.cleanJobsByState(a.state, a.timestamp, a.limit) : q.scripts.cleanJobsInSet(a.state, a.timestamp, a.limit)),
  drain: (peer, q, a) => q.drain(a.delayed),
  getRanges: (peer, q, a) => steps(q).getRanges(a.states, a.start, a.end, a.asc),
  isJobInList: (peer, q, a) => q.scripts.isJobInList(a.list, a.jobId),
  moveJobsToWait: (peer, q, a) => {
    if (a.state === 'delayed') return steps(q).promoteJobs(a.count);
    return q.backend ? q.backend.retryFinishedJobs(a.state, a.count, a.timestamp) : q.scripts.retryJobs(a.state, a.count, a.timestamp);
  },
  moveToFinished: async (peer, q, a) => {
    const job = await peer.Job.fromId(worker(peer, q, a.opts), a.jobId);
    Object.assign(job.opts, { attempts: a.opts.attempts, removeOnComplete: a.opts.keepJobs, removeOnFail: a.opts.keepJobs });
    if (a.target === 'completed') return job.moveToCompleted(JSON.parse(a.value), a.opts.token, a.fetchNext);
    return job.moveToFailed(new peer.UnrecoverableError(a.value), a.opts.token, a.fetchNext);
  },
  moveToDelayed: async (peer, q, a) => {
    const job = await peer.Job.fromId(worker(peer, q, a.opts), a.jobId);
    Object.assign(job.opts, { attempts: 9, backoff: { type: 'fixed', delay: a.delay } });
    return job.moveToFailed(new Error('again'), a.token, a.fetchNext);
  },
  moveToWaitingChildren: (peer, q, a) => steps(q).moveToWaitingChildren(a.jobId, a.token, {}),
  obliterate: (peer, q, a) => steps(q).obliterate(a),
  pause: (peer, q, a) => (a.action === 'paused' ? q.pause() : q.resume()),
  removeJob: (peer, q, a) => steps(q).remove(a.jobId, a.removeChildren),
  reprocessJob: async (peer, q, a) => (await peer.Job.fromId(q, a.jobId)).retry(a.state),
  'plain:setGlobalConcurrency': (peer, q, a) => q.setGlobalConcurrency(a.concurrency),
  'plain:removeRateLimitKey': (peer, q) => q.removeRateLimitKey(),
};
for (const kind of ['addStandardJob', 'addPrioritizedJob', 'addDelayedJob']) operations[kind] = operations.add;

function optionsOf(a) {
  const { de, ...opts } = a.opts;
  if (de) opts.deduplication = de;
  if (a.jobId) opts.jobId = a.jobId;
  return opts;
}

// What was written about a failed attempt has the peer's own stack.
function failureOf(after, a) {
  const job = after[base + a.jobId];
  return job ? { failedReason: job.value.failedReason, stacktrace: job.value.stacktrace } : { failedReason: a.value, stacktrace: '[]' };
}

async function record(situation, major) {
  const { operation, note, before: state } = situation;
  const args = { prefix: base, ...situation.args };
  const peer = peers[major];
  await write({ meta: { 'opts.maxLenEvents': '10000' }, ...state });
  const q = new peer.Queue(queue, { prefix, connection, skipMetasUpdate: true });
  await q.waitUntilReady();
  const before = await snapshot();
  sent = [];
  answer = undefined;
  Date.now = () => args.timestamp || 1700000000000;
  await operations[operation](peer, q, args).catch((error) => { answer = answer || { value: { error: error.message } }; });
  Date.now = realNow;
  await new Promise(setImmediate);
  const after = await snapshot();
  if (operation === 'moveToDelayed' || args.target === 'failed') args.fields = failureOf(after, args);
  const plain = operation.startsWith('plain:');
  const id = `${operation.replace('plain:', '')}-${situation.id}-${major}`;
  return {
    id, lib: versions[major], ...(plain ? { operation: operation.slice(6), commands: sent } : { script: operation }),
    args, keys: args.list ? [args.list] : [base + 'meta'], before, after, reply: answer ? answer.value : null, note,
  };
}

async function main() {
  let text = '';
  for await (const part of process.stdin) text += part;
  for (const situation of JSON.parse(text)) {
    for (const major of situation.libs) {
      process.stdout.write(JSON.stringify(await record(situation, major)) + '\n');
    }
  }
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
