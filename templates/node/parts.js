/**
 * Returns a task: what is declared of it, and what adds its jobs. Options of a
 * job are the task's, then those of its payload, then those of the call.
 */
function task(declared) {
  const { queue, name, defaults = {}, codec, fields = [] } = declared;
  const who = `task "${name}" of queue "${queue}"`;

  function fromPayload(option, data, keys = {}) {
    const missing = fields.find((field) => keys[field] === undefined);
    if (missing) throw new TypeError(`${who}: pass keys.${missing}, which the payload does not show`);
    return declared[option]?.(data, keys);
  }

  function options(data, opts) {
    const { keys, encode, ...own } = opts ?? {};
    const all = { ...defaults };
    for (const option of ["jobId", "delay", "priority"]) {
      const value = fromPayload(option, data, keys);
      if (![undefined, 0, ""].includes(value)) all[option] = value;
    }
    if (declared.deduplicationId && own.deduplication === undefined) {
      const id = fromPayload("deduplicationId", data, keys);
      if (!id) throw new TypeError(`${who}: the deduplication id is empty; fill in its field`);
      all.deduplication = { id, ...declared.deduplication };
    }
    return merge(who, all, own);
  }

  function job(data, opts) {
    if (!codec) return { name, data, opts: options(data, opts) };
    if (!opts?.encode) throw new TypeError(`${who}: pass encode, which does what the codec ${codec} does in Go`);
    const encoded = opts.encode(JSON.stringify(data), { queue, job: name, part: "data" });
    if (typeof encoded?.then === "function") throw new TypeError(`${who}: encode must not return a promise`);
    return { name, data: encoded, opts: options(data, opts) };
  }

  return {
    ...declared,
    defaults,
    options,
    job,
    jobId: (data, opts) => fromPayload("jobId", data, opts?.keys),
    deduplicationId: (data, opts) => fromPayload("deduplicationId", data, opts?.keys),
    node: (data, opts) => ({ queueName: queue, ...job(data, opts) }),
    async add(to, data, opts) {
      expectQueue(queue, to);
      const added = job(data, opts);
      return to.add(name, added.data, added.opts);
    },
    async addBulk(to, list, opts) {
      expectQueue(queue, to);
      return to.addBulk(list.map((data, i) => job(data, typeof opts === "function" ? opts(data, i) : opts)));
    },
  };
}

/** Returns options with others in their place: undefined says nothing, null takes one away. */
function merge(who, options, own) {
  const all = { ...options };
  for (const [option, value] of Object.entries(own)) {
    if (value !== undefined) all[option] = value ?? undefined;
  }
  if (own.attempts === null) all.attempts = 0;
  if (own.gen) {
    const gen = Object.entries({ ...options.gen, ...own.gen }).filter(([, ms]) => ms);
    all.gen = gen.length > 0 ? Object.fromEntries(gen) : undefined;
  }
  const { delay = 0, priority = 0 } = all;
  if (!(delay >= 0 && delay <= 6307200000000)) {
    throw new RangeError(`${who}: delay must be from 0 ms to 200 years, not ${delay}`);
  }
  if (!Number.isInteger(priority) || priority < 0 || priority > 2097151) {
    throw new RangeError(`${who}: priority must be an integer from 0 to 2097151, not ${priority}`);
  }
  if (delay) all.delay = Math.trunc(delay);
  for (const option of ["delay", "jobId", "keepLogs", "lifo", "priority", "sizeLimit"]) {
    if ([0, "", false].includes(all[option])) all[option] = undefined; // Go stores none of these
  }
  return all;
}

/** Throws an error if jobs of a queue would be added to another one. */
function expectQueue(name, queue) {
  if (queue.name !== name) throw new TypeError(`expected a Queue "${name}", got "${queue.name}"`);
}

/** Returns a task whose jobs wait for others, in the slots that are declared. */
function parent(declared) {
  const { add, addBulk, ...self } = task(declared);
  const node = (data, children, opts) => ({ ...self.node(data, opts), children: inSlots(declared, children) });
  return {
    ...self,
    node,
    async addFlow(producer, data, children, opts) {
      return producer.add(node(data, children, opts));
    },
  };
}

/** Returns the children of a job: ids say in which slot one is, and options what its failure means. */
function inSlots({ name, slots }, given = {}) {
  const unknown = Object.keys(given).find((slot) => !Object.hasOwn(slots, slot));
  if (unknown) throw new TypeError(`task "${name}" declares no slot "${unknown}"`);
  return Object.entries(slots).flatMap(([slot, declared]) => {
    const places = placesIn(declared.kind, given[slot]);
    if (declared.kind === "one" && places.length === 0) {
      throw new TypeError(`the flow is not complete: slot "${slot}" of task "${name}" is empty`);
    }
    return places.map(([at, node]) => {
      if (node?.queueName !== declared.queue || node.name !== declared.name) {
        throw new TypeError(`slot "${slot}" of task "${name}" takes task "${declared.name}" of queue "${declared.queue}"`);
      }
      const opts = { ...node.opts };
      if (opts.jobId && declared.shared) {
        throw new TypeError(`slot "${slot}" of task "${name}": leave jobId out, since the id says the slot`);
      }
      if (declared.onFail && !opts.failParentOnFailure) opts[declared.onFail] = true;
      opts.jobId ??= `${slot}.${encodeURIComponent(at)}.${randomUUID()}`;
      return { ...node, opts };
    });
  });
}

/** Returns the jobs in a slot, each with its index or key. */
function placesIn(kind, given) {
  if (given === undefined || given === null) return [];
  if (kind === "many") return given.map((node, i) => [i, node]);
  if (kind === "keyed") return Object.entries(given).sort(([a], [b]) => (a < b ? -1 : 1));
  return [[0, given]];
}

/** Returns the task with what stores its schedules. */
function scheduled(task) {
  const { queue, name, schedules } = task;
  return {
    ...task,
    async upsertSchedule(to, id, data, opts) {
      expectQueue(queue, to);
      if (!Object.hasOwn(schedules, id)) throw new TypeError(`task "${name}" declares no schedule "${id}"`);
      const job = task.job(data, { ...opts, jobId: null, delay: null, deduplication: null });
      const own = Object.entries(job.opts).filter(([, value]) => value !== undefined);
      return to.upsertJobScheduler(id, schedules[id], { ...job, opts: Object.fromEntries(own) });
    },
  };
}

/** Returns the key made of values in a scope, the same text as in Go; undefined for one empty text. */
function key(scope, ...texts) {
  const joined = texts.join(",");
  if (joined === "") return undefined;
  const long = Buffer.byteLength(joined) > 128;
  const values = long ? `~${createHash("sha256").update(joined).digest("hex")}` : joined;
  return `${escaped(scope).replaceAll("/", "\\/")}/${values}`;
}

/** Returns a text without what separates texts in a key. */
function escaped(text) {
  return text.replace(/[\\,~]/g, "\\$&").replaceAll(":", "\\.");
}

/** Returns the text of a string in a key. */
function text(value) {
  return escaped(value ?? "");
}

/** Returns the text of a string that is JSON in a string. */
function quoted(value) {
  return text(JSON.parse(value ?? '""'));
}

/** Returns the text of a boolean. */
function bool(value) {
  return String(value ?? false);
}

/** Returns the text of an integer: a number, a bigint or digits. */
function integer(value) {
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new RangeError(`${value} is not an integer that JavaScript holds exactly`);
  }
  return String(BigInt(value ?? 0));
}

/** Returns the text of a float64. */
function float(value) {
  const number = Number(value ?? 0);
  if (!Number.isFinite(number)) throw new RangeError(`${value} is not a number that JSON holds`);
  return String(number);
}

/**
 * Returns the text of a float32, as Go writes it: the shortest number that rounds to
 * it, and of two that are equally near the even one. Below a power of two float32s
 * are closer together, so that the nearest number may round to another one.
 */
function float32(value) {
  const number = Math.fround(float(value));
  const size = Math.abs(number);
  for (let digits = 0; ; digits++) {
    const [exact, exponent] = size.toExponential(digits + 25).split("e");
    const even = /[02468]\.?50{24}$/.test(exact) && !Number.isInteger(Math.log2(size));
    const near = even ? `${exact.slice(0, -25)}e${exponent}` : size.toExponential(digits);
    const above = (Number(near) + 10 ** (exponent - digits)).toExponential(digits);
    const found = [near, above].find((text) => Math.fround(text) === size);
    if (found) return float(Math.sign(number) * found);
  }
}

/** Returns the text of a time in RFC 3339: the same instant in UTC. */
function time(value) {
  const parts = /^(.{19})(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:\d\d)$/.exec(value ?? "0001-01-01T00:00:00Z");
  const [, second, fraction = "", zone] = parts ?? [];
  const at = new Date(second + zone);
  if (Number.isNaN(at.getTime())) throw new RangeError(`${value} is not a time in RFC 3339`);
  const whole = at.toISOString().slice(0, -5).replace(/^\+0|(?<=^-)00/, "");
  const digits = fraction.replace(/0+$/, "");
  return escaped(`${whole}${digits && "."}${digits}Z`);
}

/** Returns the text of a value that may be missing: null in JSON, nil in Go. */
function optional(value, textOf) {
  return value === undefined || value === null ? "~" : textOf(value);
}

/** Returns the milliseconds until a time. */
function until(value) {
  return Math.max(0, new Date(value ?? 0) - Date.now());
}

/**
 * Returns the function of a worker of a queue, which calls the handler of the
 * job's name. Jobs of an earlier name go to the handler of their task.
 */
export function processor(queue, handlers) {
  const byName = new Map(Object.entries(handlers));
  for (const { name, aliases = [], upgrades = [] } of tasks.filter((task) => task.queue === queue)) {
    const missing = [name, ...upgrades].find((needed) => !byName.has(needed));
    if (missing) throw new TypeError(`queue "${queue}": no handler for jobs named "${missing}"`);
    for (const alias of aliases) byName.set(alias, handlers[name]);
  }
  return async (job, ...rest) => {
    const handler = byName.get(job.name);
    if (!handler) throw new Error(`queue "${queue}": no handler for job "${job.id}", which is named "${job.name}"`);
    return handler(job, ...rest);
  };
}
