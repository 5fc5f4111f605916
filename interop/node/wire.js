// Requests on standard input, answers and events on standard output, one JSON
// value a line.
'use strict';

const readline = require('node:readline');

function write(value) {
  process.stdout.write(JSON.stringify(value) + '\n');
}

// emit reports something that nobody asked for: {"event": kind, ...}.
function emit(event) {
  write(event);
}

// failure is an error as the protocol has it.
function failure(err) {
  const e = { message: String(err && err.message !== undefined ? err.message : err) };
  if (err && typeof err.code === 'number') e.code = err.code;
  if (err && err.name) e.name = err.name;
  return e;
}

// serve answers requests until standard input ends. Requests are served side
// by side: one that waits holds up no other.
function serve(ops) {
  readline.createInterface({ input: process.stdin }).on('line', async line => {
    const { id, op, args } = JSON.parse(line);
    try {
      if (!ops[op]) throw Object.assign(new Error(`unknown operation ${op}`), { name: 'NotOffered' });
      const ok = await ops[op](args || {});
      write({ id, ok: ok === undefined ? null : ok });
    } catch (err) {
      write({ id, error: failure(err) });
    }
  }).on('close', () => process.exit(0));
}

module.exports = { serve, emit, failure };
