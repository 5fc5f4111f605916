// The objects of the library that a peer holds: one queue, one event reader
// and one flow producer for each name, made when they are first asked for.
'use strict';

const IORedis = require('ioredis');

// connect opens a connection; a URL with further nodes, as in
// redis://host:1?addr=host:2, is that of a cluster.
function connect(url) {
  const Redis = IORedis.default || IORedis;
  const options = { maxRetriesPerRequest: null };
  const { host, searchParams } = new URL(url);
  const more = searchParams.getAll('addr');
  if (!more.length) return new Redis(url, options);
  return new Redis.Cluster([host, ...more].map(node => `redis://${node}`), { redisOptions: options });
}

class Context {
  constructor(library, url, prefix) {
    this.lib = require(library);
    this.url = url;
    this.options = prefix ? { prefix } : {};
    this.prefix = prefix || 'bull';
    this.queues = new Map();
    this.events = new Map();
    this.workers = new Map();
    this.held = new Map(); // jobs taken by hand, by queue and id
  }

  // connection is the one that queues and workers share; what blocks has its own.
  get connection() {
    if (!this.shared) this.shared = connect(this.url);
    return this.shared;
  }

  with(options) {
    return { ...this.options, ...options, connection: this.connection };
  }

  // queue opens a queue. Options count only when it is opened first.
  queue(name, options = {}) {
    let queue = this.queues.get(name);
    if (!queue) {
      queue = new this.lib.Queue(name, this.with(options));
      queue.on('error', err => console.error(`queue ${name}:`, err));
      this.queues.set(name, queue);
    }
    return queue;
  }

  flow() {
    if (!this.producer) {
      this.producer = new this.lib.FlowProducer(this.with({}));
      this.producer.on('error', err => console.error('flow producer:', err));
    }
    return this.producer;
  }

  worker(key) {
    const worker = this.workers.get(key);
    if (!worker) throw new Error(`no worker ${key} was started`);
    return worker;
  }

  // job reads a job as it is stored.
  async job(queue, id) {
    const job = await this.queue(queue).getJob(id);
    if (!job) throw Object.assign(new Error(`Missing key for job ${id}`), { code: -1, name: 'NoJob' });
    return job;
  }

  // taken is a job that was taken by hand, with what its worker knows of it.
  taken({ queue, id }) {
    const job = this.held.get(`${queue}/${id}`);
    if (!job) throw new Error(`job ${id} of queue ${queue} is not held`);
    return job;
  }

  hold(job) {
    this.held.set(`${job.queueName}/${job.id}`, job);
  }

  drop({ queue, id }) {
    this.held.delete(`${queue}/${id}`);
  }
}

module.exports = { Context };
