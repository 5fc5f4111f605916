// BullMQ for Node.js as a contender: reads an order a line, writes events, as wire.go describes.
'use strict';

const readline = require('node:readline');
const { performance } = require('node:perf_hooks');
const { FlowProducer, Queue, Worker } = require('bullmq');

const [host, port] = process.argv[2].split(':');
const connection = { host, port: Number(port), maxRetriesPerRequest: null };
const name = 'bench';
const payload = (id) => ({ id, text: 'a payload of the size that is usual in queues' });
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const say = (event) => process.stdout.write(JSON.stringify(event) + '\n');

function newMeter(order) {
  let count = 0;
  let began;
  const meter = {};
  meter.finished = new Promise((resolve) => { meter.resolve = resolve; });
  meter.begin = () => { say({ event: 'begin' }); began = performance.now(); };
  meter.stop = () => { say({ event: 'end', seconds: (performance.now() - began) / 1000 }); meter.resolve(); };
  meter.tick = () => {
    count++;
    if (count === order.warm) meter.begin();
    else if (count === order.warm + order.jobs) meter.stop();
  };
  return meter;
}

async function addMany(queue, from, to, size) {
  for (let i = from; i < to; i += size) {
    const jobs = [];
    for (let j = i; j < Math.min(i + size, to); j++) jobs.push({ name: 'job', data: payload(j) });
    await queue.addBulk(jobs);
  }
}

// Adds flows in calls of a size. As many add calls at once take a sixth more processor time.
async function addFlows(flows, order, from, to) {
  for (let i = from; i < to; i += order.size) {
    const some = [];
    for (let j = i; j < Math.min(i + order.size, to); j++) {
      const children = [];
      for (let k = 0; k < order.children; k++) children.push({ name: 'job', queueName: name, data: payload(k) });
      some.push({ name: 'parent', queueName: name, data: payload(j), children });
    }
    await flows.addBulk(some);
  }
}

const orders = {
  async load(order, meter, queue) { await addMany(queue, 0, order.warm + order.jobs, 1000); },

  async work(order, meter) {
    const worker = new Worker(name, async () => {
      if (order.handlerMS > 0) await sleep(order.handlerMS);
      meter.tick();
    }, { connection, concurrency: order.concurrency });
    await meter.finished;
    await worker.close();
  },

  async bulk(order, meter, queue) {
    await addMany(queue, 0, order.warm, order.size);
    meter.begin();
    await addMany(queue, order.warm, order.warm + order.jobs, order.size);
    meter.stop();
  },

  async single(order, meter, queue) {
    let next = 0;
    const adds = async () => {
      while (next < order.warm + order.jobs) {
        await queue.add('job', payload(next++));
        meter.tick();
      }
    };
    await Promise.all(Array.from({ length: order.concurrency }, adds));
  },

  async addFlows(order, meter) {
    const flows = new FlowProducer({ connection });
    await addFlows(flows, order, 0, order.warm);
    meter.begin();
    await addFlows(flows, order, order.warm, order.warm + order.jobs);
    meter.stop();
    await flows.close();
  },

  async workFlows(order, meter) {
    const flows = new FlowProducer({ connection });
    let left;
    let done;
    const worker = new Worker(name, async (job) => {
      if (job.name === 'parent' && --left === 0) done();
    }, { connection, concurrency: order.concurrency });
    const run = async (from, to) => {
      left = to - from;
      const all = new Promise((resolve) => { done = resolve; });
      await addFlows(flows, order, from, to);
      await all;
    };
    await run(0, order.warm);
    meter.begin();
    await run(order.warm, order.warm + order.jobs);
    meter.stop();
    await worker.close();
    await flows.close();
  },

  async latency(order, meter, queue) {
    let received;
    const worker = new Worker(name, async () => { received(performance.now()); }, { connection, concurrency: order.concurrency });
    await worker.waitUntilReady();
    const latencies = [];
    for (let i = 0; i <= order.jobs; i++) {
      await sleep(order.gapMS);
      if (i === 1) meter.begin();
      const got = new Promise((resolve) => { received = resolve; });
      const at = performance.now();
      await queue.add('job', payload(i));
      const took = (await got) - at;
      if (i > 0) latencies.push(took * 1000);
    }
    meter.stop();
    await worker.close();
    return latencies;
  },
};

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const order = JSON.parse(line);
    const queue = new Queue(name, { connection });
    try {
      const latencies = await orders[order.op](order, newMeter(order), queue);
      await queue.close();
      say({ event: 'done', latencies });
    } catch (err) {
      say({ event: 'error', text: String(err && err.stack) });
    }
  }
}

main().then(() => process.exit(0), (err) => { console.error(err); process.exit(1); });
