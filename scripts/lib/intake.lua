-- needs: run delayed dedup duplicate move jobkeys
-- Adding a job of any kind, to a queue as `L.intake` makes it.

-- `int` for many numbers: '%d' takes a third of the time of '%.0f', and is right where C has a `long` of 64 bits.
local whole = string.format('%d', 1099511627776) == '1099511627776' and '%d' or '%.0f'

local function flush_prioritized(q)
  local count = #q.prio / 2
  local pc = L.count_places(q.b, count) - count
  local args, prio, format = {}, q.prio, string.format
  for k = 1, count do
    args[2 * k - 1] = format(whole, prio[2 * k] * 4294967296 + (pc + k) % 4294967296)
    args[2 * k] = prio[2 * k - 1]
  end
  rc('ZADD', q.b .. 'prioritized', unpack(args))
  q.prio = {}
end

-- Writes what was gathered for the places where a job can meet another one. (`back` can wait for the end: nothing looks at
-- the list, and what goes to its two ends may go in any order.)
function L.flush_intake(q)
  if q.front[1] then rc('RPUSH', q.list, unpack(q.front)) q.front = {} end
  if q.prio[1] then flush_prioritized(q) end
  if q.later[1] then rc('ZADD', q.b .. 'delayed', unpack(q.later)) q.later = {} end
  if q.wake_later then L.wake_delayed(q.b) q.wake_later = false end
  q.slots = {}
end

-- Once a call is enough to keep the stream short.
local function emit(q, event, ...)
  if q.cut then
    rc('XADD', q.events, 'MAXLEN', '~', q.max, '*', 'event', event, ...)
  else
    rc('XADD', q.events, '*', 'event', event, ...)
  end
end

local function add_later(q, run, id, ts)
  if not run.due then
    run.due = tonumber(ts) + tonumber(run.delay)
    run.due_text = int(run.due)
  end
  local due, later = run.due, q.later
  local score, k = q.slots[due], #later
  if not score then
    score = L.delayed_score(q.b, due)
  elseif score < (due + 1) * 4096 - 1 then
    score = score + 1
  end
  q.slots[due] = score
  later[k + 1], later[k + 2] = string.format(whole, score), id
  q.wake_later = true
  emit(q, 'delayed', 'jobId', id, 'delay', run.due_text)
end

-- Puts a stored job where it belongs.
local function place(q, run, id, ts)
  if run.w then
    rc('ZADD', q.b .. 'waiting-children', ts, id)
    emit(q, 'waiting-children', 'jobId', id)
    return
  end
  if run.delay ~= '0' then return add_later(q, run, id, ts) end
  if run.priority ~= '0' then
    local k = #q.prio
    q.prio[k + 1], q.prio[k + 2] = id, tonumber(run.priority)
  else
    local to = run.l and q.front or q.back
    to[#to + 1] = id
  end
  q.wake = true
  emit(q, 'waiting', 'jobId', id)
end

-- What a job yields to that has its own id (`there`) or its deduplication id: id and note, or nil.
local function yields(q, there, job, d, defer)
  if there then
    if job.pkey then L.flush_intake(q) end
    local code = L.duplicate(q.b, job.id, job.pkey, job.parent, job.now, defer)
    return code and '' or job.id, code or 1
  end
  if d.replace or d.reschedule then L.flush_intake(q) end
  return L.dedup(q.b, d, job), 1
end

-- Deletes the jobs that others took the place of.
function L.drop_replaced(q)
  for id in pairs(q.old) do L.delete_job(q.b .. id) end
  q.old = {}
end

-- Takes back what a call that fails has stored. Whatever fails is passed over.
function L.undo_intake(q)
  for _, m in ipairs(q.made) do
    local key = q.b .. m.id
    L.unplace(q.b, m.id)
    redis.pcall('ZREM', q.b .. 'waiting-children', m.id)
    if m.pkey then redis.pcall('SREM', m.pkey .. ':dependencies', key) end
    redis.pcall('DEL', key)
    if m.dedup and redis.pcall('GET', m.dedup.key) == m.id then redis.pcall('DEL', m.dedup.key) end
  end
  for id, score in pairs(q.old) do
    redis.pcall('ZADD', q.b .. 'delayed', score, id)
    local deid = redis.pcall('HGET', q.b .. id, 'deid')
    if type(deid) == 'string' then redis.pcall('SET', q.b .. 'de:' .. deid, id, 'NX') end
  end
end

-- Adds the job of a run whose data are ARGV[a]. `count` is the number that it takes of the counter, as text; nil: it takes the next.
-- `node` is set for a job of a flow, whose parent (`pkey`, `parent`) was looked for before and learns of its children later, and of which
-- it is known whether a job with its id is `there`. Returns its id ('': refused), the place in ARGV after it, and a note.
function L.take_in(q, run, a, count, node)
  local data, custom, ts = ARGV[a], nil, run.time or q.time
  local delay, priority, pkey, parent, d = run.delay, run.priority, run.pkey, run.parent, run.dedup
  a = a + 1
  if run.i then custom, a = ARGV[a], a + 1 end
  if node then
    pkey, parent = node.pkey, node.parent
  elseif pkey and rc('EXISTS', pkey) == 0 then
    return '', a, -5
  end
  local id = custom or count or int(rc('INCR', q.b .. 'id'))
  if custom and not count then rc('INCR', q.b .. 'id') end
  if not q.max then q.max = L.max_events(q.b) end
  local there
  if custom and q.old[custom] then L.drop_replaced(q) end
  if node then there = node.there else there = custom and rc('EXISTS', q.b .. custom) == 1 end
  if there and pkey and not node and run.names and L.other_task(run, rc('HGET', q.b .. id, 'name')) then return id, a, -10 end
  if there or d then
    local job = {
      id = id, name = run.name, data = data, opts = run.opts, now = tonumber(ts), delay = tonumber(delay), pkey = pkey, parent = parent, rjk = run.rjk, old = q.old,
    }
    local other, note = yields(q, there, job, d, node or run.f)
    if other then return other, a, note end
  end
  local key = q.b .. id
  q.made[#q.made + 1] = { id = id, pkey = pkey, dedup = d }
  if pkey then
    rc('HSET', key, 'name', run.name, 'data', data, 'opts', run.opts, 'timestamp', ts, 'delay', delay, 'priority', priority,
      'parentKey', pkey, 'parent', parent)
  else
    rc('HSET', key, 'name', run.name, 'data', data, 'opts', run.opts, 'timestamp', ts, 'delay', delay, 'priority', priority)
  end
  if run.rjk then rc('HSET', key, 'rjk', run.rjk) end
  if d then rc('HSET', key, 'deid', d.id) end
  rc('XADD', q.events, '*', 'event', 'added', 'jobId', id, 'name', run.name)
  place(q, run, id, ts)
  if pkey and not node then rc('SADD', pkey .. ':dependencies', key) end
  return id, a
end
