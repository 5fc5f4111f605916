-- needs: delayed marker dedup duplicate
-- Adding a job of any kind. A table `q` is the queue it goes to: `b` its base, `events`, `max` (events that it keeps; nil: not
-- set yet), `list` (of waiting jobs), `time` (of jobs that have none of their own), and what is gathered to be written at once:
-- `back`, `front` (ids for the two ends of the list), `prio` (ids and priorities), `later` (scores and ids of delayed jobs),
-- `slots` (the last score given for a time), `wake` and `wake_later` (the markers to set). `cut` is set for the call's last job.

function L.intake(b, meta, max, time, back)
  return {
    b = b, events = b .. 'events', max = max, list = L.wait_key(b, meta[1]), time = time,
    back = back, front = {}, prio = {}, later = {}, slots = {}, wake = false, wake_later = false,
  }
end

local function flush_prioritized(q)
  local count = #q.prio / 2
  local pc = rc('INCRBY', q.b .. 'pc', int(count)) - count
  local args = {}
  for k = 1, count do
    args[2 * k - 1] = int(q.prio[2 * k] * 4294967296 + (pc + k) % 4294967296)
    args[2 * k] = q.prio[2 * k - 1]
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

local function add_later(q, id, ts, delay)
  local due = ts + tonumber(delay)
  local score = q.slots[due]
  if not score then
    score = L.delayed_score(q.b, due)
  elseif score < (due + 1) * 4096 - 1 then
    score = score + 1
  end
  q.slots[due] = score
  q.later[#q.later + 1] = int(score)
  q.later[#q.later + 1] = id
  q.wake_later = true
  emit(q, 'delayed', 'jobId', id, 'delay', int(due))
end

local find = string.find
local function has(flags, flag) return find(flags, flag, 1, true) end

-- Puts a stored job where it belongs.
local function place(q, flags, id, ts, delay, priority)
  if has(flags, 'w') then
    rc('ZADD', q.b .. 'waiting-children', ts, id)
    emit(q, 'waiting-children', 'jobId', id)
    return
  end
  if delay ~= '0' then return add_later(q, id, tonumber(ts), delay) end
  if priority ~= '0' then
    q.prio[#q.prio + 1] = id
    q.prio[#q.prio + 1] = tonumber(priority)
  else
    local to = has(flags, 'l') and q.front or q.back
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

local function dedup_of(b, id, ttl, how, replace)
  return {
    id = id, key = b .. 'de:' .. id, next = b .. 'dn:' .. id, ttl = tonumber(ttl), extend = has(how, 'e'),
    replace = replace and has(how, 'r'), keep_last = has(how, 'k'), reschedule = has(how, 's'),
  }
end

-- Adds the job whose flags, name, data and options stand before ARGV[a]; see script `add`. `count` is the number that it takes of
-- the counter; nil: it takes the next. `node` is set for a job of a flow, whose parent (`pkey`, `parent`) was looked for before and
-- learns of its children later, and of which it is known whether a job with its id is `there`. Returns its id ('': refused), the
-- place in ARGV after it, and a note.
function L.take_in(q, a, count, node)
  local flags, name, data, opts = ARGV[a - 4], ARGV[a - 3], ARGV[a - 2], ARGV[a - 1]
  local custom, ts, delay, priority = nil, q.time, '0', '0'
  local pkey, parent, rjk, d
  if has(flags, 'i') then custom, a = ARGV[a], a + 1 end
  if has(flags, 't') then ts, a = ARGV[a], a + 1 end
  if has(flags, 'd') then delay, a = ARGV[a], a + 1 end
  if has(flags, 'p') then priority, a = ARGV[a], a + 1 end
  if has(flags, 'P') then pkey, parent, a = ARGV[a], ARGV[a + 1], a + 2 end
  if has(flags, 's') then rjk, a = ARGV[a], a + 1 end
  if has(flags, 'D') then d, a = dedup_of(q.b, ARGV[a], ARGV[a + 1], ARGV[a + 2], not has(flags, 'w')), a + 3 end
  if node then
    pkey, parent = node.pkey, node.parent
  elseif pkey and rc('EXISTS', pkey) == 0 then
    return '', a, -5
  end
  local id = custom or int(count or rc('INCR', q.b .. 'id'))
  if custom and not count then rc('INCR', q.b .. 'id') end
  if not q.max then q.max = L.max_events(q.b) end
  local there
  if node then there = node.there else there = custom and rc('EXISTS', q.b .. custom) == 1 end
  if there or d then
    local job = { id = id, name = name, data = data, opts = opts, now = tonumber(ts), delay = tonumber(delay), pkey = pkey, parent = parent, rjk = rjk }
    local other, note = yields(q, there, job, d, has(flags, 'f'))
    if other then return other, a, note end
  end
  local key = q.b .. id
  if pkey then
    rc('HSET', key, 'name', name, 'data', data, 'opts', opts, 'timestamp', ts, 'delay', delay, 'priority', priority, 'parentKey', pkey, 'parent', parent)
  else
    rc('HSET', key, 'name', name, 'data', data, 'opts', opts, 'timestamp', ts, 'delay', delay, 'priority', priority)
  end
  if rjk then rc('HSET', key, 'rjk', rjk) end
  if d then rc('HSET', key, 'deid', d.id) end
  rc('XADD', q.events, '*', 'event', 'added', 'jobId', id, 'name', name)
  place(q, flags, id, ts, delay, priority)
  if pkey and not node then rc('SADD', pkey .. ':dependencies', key) end
  return id, a
end
