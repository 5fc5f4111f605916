-- lib: schedule remove waiting foreign
-- Stores schedules, each with the job of its next slot, in place of what is there.
-- KEYS: 1 any key of the queue.
-- ARGV: 1 base, 2 mode, 3 now (ms), 4 number of schedules. Then of each:
--   id, slot (ms, of a pattern; '' for an interval), interval (ms or ''), offset (ms or ''), start (ms or ''), end (ms or ''),
--   switches (k: a run of the same pattern that is due stays; l: its jobs are first in line),
--   name of its jobs, their data, their options (JSON without its end), their id (JSON without slot and end), their priority,
--   their deduplication id or '', number of fields of its hash, and these: names and values.
-- Reply: of each, two elements: the job's id and delay (ms), or '' and a code: -10 the slot's job exists, -11 so do those of many
--   slots after it, -12 the slot is after the end, -13 another
--   program's key is in its place. Of one that was refused, nothing is changed; nor of one whose field gen:owner is
--   stored already with all the others, and that needs nothing: its field gen:first is the count of jobs from which its limit counts.
local now = tonumber(ARGV[3])
local slots = B .. 'repeat'
L.max_events(B)

-- The slot of an interval, beginning with the one given, whose job does not exist; `own` does not count. Nil: there are many.
local function free_slot(sid, slot, every, own)
  for _ = 0, 32 do
    local id = L.slot_id(sid, slot)
    if id == own or rc('EXISTS', B .. id) == 0 then return slot end
    slot = slot + every
  end
end

-- The slot of an interval, and the offset to be kept with it.
local function interval_slot(s, prev, old, own)
  local offset = s.offset or 0
  local same = prev and tonumber(old.every) == s.every
  -- A slot so far off that only another clock, or promoting many jobs, can have brought it about: back to now, in phase.
  if same and prev > math.max(now, s.start or 0) + 2 * s.every then
    offset = s.offset or tonumber(old.offset or '0')
    local slot = math.floor(now / s.every) * s.every + offset % s.every
    return slot > now and slot or slot + s.every, offset
  end
  if same and own then return prev, s.offset or old.offset end
  local slot = L.next_slot(same and prev or nil, s.every, now, offset, s.start)
  return slot, offset ~= 0 and offset or slot % s.every
end

-- The slot of a pattern, and the offset to be kept with it.
local function pattern_slot(s, prev, old, own)
  local due = own and prev <= now and s.keep_due and old.pattern == s.fields.pattern and old.tz == s.fields.tz
  local offset = s.offset
  if not offset then
    if own then offset = old.offset else offset = 0 end
  end
  return due and prev or s.slot, offset
end

-- What says when a schedule makes jobs, which ones, and for whom.
local definition = { 'name', 'data', 'opts', 'pattern', 'tz', 'every', 'limit', 'startDate', 'endDate', 'gen:owner' }

-- Whether a schedule that somebody declares is stored already just so, and goes on by itself, or has made its last job.
local function goes_on(s, prev, old, own)
  local owner = s.fields['gen:owner']
  if not owner or not prev or s.offset and s.offset ~= tonumber(old.offset) then return false end
  local have = rc('HMGET', slots .. ':' .. s.id, 'gen:first', unpack(definition))
  for i, name in ipairs(definition) do
    if (have[i + 1] or nil) ~= s.fields[name] then return false end
  end
  local limit = tonumber(s.fields.limit)
  if limit and tonumber(old.ic) - (L.number(have[1]) or tonumber(old.ic)) + 1 >= limit then return true end
  -- A job that stands too far off was put there by another clock, and is replaced.
  if s.every then return own and prev <= math.max(now, s.start or 0) + 2 * s.every end
  return own and (prev <= now or prev <= s.slot)
end

local function read(a)
  local s = {
    id = ARGV[a], slot = tonumber(ARGV[a + 1]), every = tonumber(ARGV[a + 2]), offset = tonumber(ARGV[a + 3]),
    start = tonumber(ARGV[a + 4]), ends = tonumber(ARGV[a + 5]), keep_due = string.find(ARGV[a + 6], 'k', 1, true),
    name = ARGV[a + 7], data = ARGV[a + 8], opts = ARGV[a + 9], jid = ARGV[a + 10], priority = ARGV[a + 11], deid = ARGV[a + 12],
    lifo = string.find(ARGV[a + 6], 'l', 1, true), cron = ARGV[a + 2] == '', fields = {}, list = {},
  }
  local n = tonumber(ARGV[a + 13])
  for i = a + 14, a + 13 + 2 * n, 2 do
    s.fields[ARGV[i]] = ARGV[i + 1]
    s.list[#s.list + 1] = ARGV[i]
    s.list[#s.list + 1] = ARGV[i + 1]
  end
  return s, a + 14 + 2 * n
end

-- What is stored of a schedule: its slot, or nil, and some of its fields, or nil where they can be no schedule's.
local function stored(sid)
  local prev = tonumber(rc('ZSCORE', slots, sid) or '')
  local h = L.fields(slots .. ':' .. sid, 'every', 'pattern', 'tz', 'offset', 'ic')
  return prev, h and {
    every = h[1], pattern = h[2] or nil, tz = h[3] or nil, offset = L.number(h[4]) and h[4] or nil, ic = L.number(h[5]) and h[5] or '1',
  }
end

local function upsert(s)
  local prev, old = stored(s.id)
  if not old then return '', -13 end
  -- The job of the slot, if it is one that can be replaced.
  local own = prev and L.slot_id(s.id, prev)
  if own and not (L.is_job(B .. own) and L.pending(B, own)) then own = nil end
  if goes_on(s, prev, old, own) then return L.slot_id(s.id, prev), 0 end
  local slot, offset = (s.every and interval_slot or pattern_slot)(s, prev, old, own)
  if s.every then
    slot = free_slot(s.id, slot, s.every, own)
    if not slot then return '', -11 end
  elseif L.slot_id(s.id, slot) ~= own and rc('EXISTS', B .. L.slot_id(s.id, slot)) == 1 then
    return '', -10
  end
  if s.ends and slot > s.ends then return '', -12 end
  local hash, before = slots .. ':' .. s.id, own and { h = rc('HGETALL', B .. own), score = rc('ZSCORE', B .. 'delayed', own) }
  local definition = rc('HGETALL', hash)
  local id, delay
  L.guarded(function()
    if own then
      local deid = rc('HGET', B .. own, 'deid')
      L.take_pending(B, own)
      if deid then L.free_dedup(B, own, deid) end
      L.delete_job(B .. own)
    end
    rc('ZADD', slots, int(slot), s.id)
    rc('DEL', hash)
    rc('HSET', hash, 'ic', old.ic, unpack(s.list))
    if offset then rc('HSET', hash, 'offset', int(tonumber(offset))) end
    if s.fields['gen:owner'] and s.fields.limit then rc('HSET', hash, 'gen:first', old.ic) end
    id, delay = L.add_iteration(B, s.id, slot, s, now)
  end, function() -- what was there is put back
    redis.pcall('DEL', hash)
    if prev then
      redis.pcall('HSET', hash, unpack(definition))
      redis.pcall('ZADD', slots, int(prev), s.id)
    else
      redis.pcall('ZREM', slots, s.id)
    end
    if own then
      redis.pcall('HSET', B .. own, unpack(before.h))
      if before.score then
        redis.pcall('ZADD', B .. 'delayed', before.score, own)
      elseif not L.pending(B, own) then
        L.add_waiting(B, own, rc('HGET', B .. own, 'priority'), true, false, false)
      end
    end
  end)
  return id, delay
end

local reply, a = {}, 5
for i = 1, tonumber(ARGV[4]) do
  local s
  s, a = read(a)
  local id, note = upsert(s)
  reply[2 * i - 1], reply[2 * i] = id, tostring(note)
end
return reply
