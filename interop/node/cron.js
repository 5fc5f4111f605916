// The cron parser that a release of the library uses: reads {pattern, zone, from, count} a line, and writes for each one
// {times}: as many times as asked for, each one the next after that before, found as the library does it (the pattern is read
// anew for each), or with the option "iterate" by one reading of it; or {error}.
//
//   node cron.js <library> [iterate]
'use strict';

const path = require('path');
const readline = require('readline');

const home = path.dirname(require.resolve(path.join(process.argv[2], 'package.json')));
const parser = require(require.resolve('cron-parser', { paths: [home] }));
const read = parser.CronExpressionParser
  ? (pattern, opts) => parser.CronExpressionParser.parse(pattern, opts)
  : (pattern, opts) => parser.parseExpression(pattern, opts);

const iterate = process.argv[3] === 'iterate';

function times({ pattern, zone, from, count }) {
  const found = [];
  try {
    if (iterate) {
      const read1 = read(pattern, { currentDate: new Date(from), tz: zone });
      while (found.length < count) found.push(read1.next().getTime());
      return { times: found };
    }
    for (let at = from; found.length < count; found.push(at)) {
      at = read(pattern, { currentDate: new Date(at), tz: zone }).next().getTime();
    }
  } catch (err) {
    return { times: found, error: err.message };
  }
  return { times: found };
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  process.stdout.write(JSON.stringify(times(JSON.parse(line))) + '\n');
});
