-- lib: schedule waiting foreign counter
-- Adds the next job of schedules whose current one was taken by a worker.
-- KEYS: 1 any key of the queue.
-- ARGV: 1 base, 2 mode, 3 now (ms), 4 number of schedules. Then of each:
--   id, id of the job that was taken, slot (ms, of a pattern; '' for an interval), interval (ms or '') and offset (ms or '') for a
--   schedule that has none of its own, end (ms or ''), switches (l: its jobs are first in line),
--   options of the next job (JSON without its end), its id (JSON without slot and end), its priority, its deduplication id or ''.
-- Reply: of each, two elements: a code and an id: 0 the job with this id was added, or exists and is now the current one, 1 nothing
--   is to be done (the schedule was removed, or another job is its current one), 2 the slot's job exists and will not run: try a
--   later slot, 3 what was taken is not a schedule's in a form that is known, 4 the next slot is after the end, 5 another program's
--   key is in its place.
local now = tonumber(ARGV[3])
local slots = B .. 'repeat'

-- Moves an interval on to a slot whose job does not exist, or is yet to run. Peers stop for ever at one that does.
local function open_slot(sid, slot, every)
  for _ = 1, 10000 do
    local id = L.slot_id(sid, slot)
    if rc('EXISTS', B .. id) == 0 or L.pending(B, id) then return slot end
    L.emit_capped(B, 'duplicated', 'jobId', id)
    slot = slot + every
  end
end

-- Name and data of the next job. Those of a schedule without any, which 5.x made in its older form, are the ones of the job that was taken.
local function template(sid, producer, h)
  local name, data = h[1], h[2]
  if not h[5] and not data then
    local p = L.fields(B .. producer, 'name', 'data') or {}
    name, data = name or p[1], p[2] or nil
    if data and data ~= '{}' then rc('HSET', slots .. ':' .. sid, 'data', data) end
  end
  return name or '', data or '{}'
end

local function advance(a)
  local sid, producer, slot, ends = ARGV[a], ARGV[a + 1], tonumber(ARGV[a + 2]), tonumber(ARGV[a + 5])
  local prev = tonumber(rc('ZSCORE', slots, sid) or '')
  if not prev then return 1, '' end
  local h = L.fields(slots .. ':' .. sid, 'name', 'data', 'every', 'offset', 'ic')
  if not h then return 5, '' end
  if producer ~= L.slot_id(sid, prev) then return (h[1] or h[5]) and 1 or 3, '' end
  local every = L.number(h[3]) or tonumber(ARGV[a + 3])
  if every and every > 0 then
    slot = L.next_slot(prev, every, now, L.number(h[4]) or tonumber(ARGV[a + 4]) or 0)
    slot = open_slot(sid, slot, every)
  end
  if not slot then return 1, '' end
  if ends and slot > ends then return 4, '' end
  local id = L.slot_id(sid, slot)
  if rc('EXISTS', B .. id) == 1 then
    if not L.pending(B, id) then
      L.emit_capped(B, 'duplicated', 'jobId', id)
      return 2, id
    end
    rc('ZADD', slots, int(slot), sid)
    return 0, id
  end
  local name, data = template(sid, producer, h)
  -- The schedule goes on to the job when that is there: a call that was stopped before is made again.
  L.add_iteration(B, sid, slot, {
    name = name, data = data, opts = ARGV[a + 7], jid = ARGV[a + 8], priority = ARGV[a + 9], deid = ARGV[a + 10],
    lifo = string.find(ARGV[a + 6], 'l', 1, true), cron = not every,
  }, now)
  rc('ZADD', slots, int(slot), sid)
  L.count_up(slots .. ':' .. sid, 'ic')
  -- 5.x notes what follows a job.
  if MODE == '5' and rc('EXISTS', B .. producer) == 1 then rc('HSET', B .. producer, 'nrjid', id) end
  return 0, id
end

local reply = {}
for i = 1, tonumber(ARGV[4]) do
  local code, id = advance(5 + (i - 1) * 11)
  reply[2 * i - 1], reply[2 * i] = int(code), id
end
return reply
