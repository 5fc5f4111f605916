// A peer: BullMQ for Node.js, driven by lines of JSON.
//
//   node peer.js <library> <redis url> [prefix]
//
// The library is the name of an npm package: bullmq (6.x) or bullmq5 (5.x).
// ../README.md documents the protocol.
'use strict';

require('./clock');
const { serve, emit } = require('./wire');
const { Context } = require('./context');

const [library, url, prefix] = process.argv.slice(2);
if (!library || !url) {
  console.error('usage: node peer.js <library> <redis url> [prefix]');
  process.exit(2);
}

console.log = console.error; // standard output is the protocol's

const ctx = new Context(library, url, prefix);
const ops = {};
for (const part of ['./clock', './queue', './job', './worker', './manual', './events', './flow', './scheduler', './generated']) {
  Object.assign(ops, require(part).ops(ctx));
}
ops.ops = async () => Object.keys(ops).sort();
ops.ping = async () => ({ library, version: require(library + '/package.json').version, pid: process.pid });

process.on('unhandledRejection', err => emit({ event: 'error', message: String((err && err.stack) || err) }));
serve(ops);
