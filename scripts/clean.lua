-- lib: lists remove scheduled events marker foreign
-- Removes jobs of one state that are old enough, but not locked ones nor those that schedules wait for.
-- KEYS: 1 any key of the queue.
-- ARGV: 1 base, 2 mode, 3 key of the state ("wait", "failed", ...), 4 finished, begun or made by then (ms),
--       5 how many jobs are removed at most, 6 how many are looked at (0: all), 7 how many are passed over first: lists
--       are read from the right end, sets from the lowest score, 8 now (ms).
-- Reply: how many jobs were looked at and stay, 1 when there may be more beyond them or else 0, then the ids removed.
local state, before, now = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[8])
local room, window, skip = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local key = B .. state

-- The time that counts is the first of these that a job has. A job that has none, or is no job's, is old enough.
local TIMES = {
  delayed = { 'processedOn', 'timestamp' },
  prioritized = { 'timestamp' },
}
local times = TIMES[state] or { 'finishedOn', 'processedOn', 'timestamp' }

local function old_enough(id)
  local t = L.fields(B .. id, unpack(times))
  for i = 1, t and #times or 0 do
    if t[i] then return (tonumber(t[i]) or 0) <= before end
  end
  return true
end

local function removable(id)
  if L.awaited(B, id) then return false end
  if state == 'active' and rc('EXISTS', B .. id .. ':lock') == 1 then return false end
  return old_enough(id)
end

-- Splits ids, given oldest first, into those to go and those to stay.
local function choose(ids, test)
  local gone, kept = {}, {}
  for _, id in ipairs(ids) do
    local go = #gone < room and test(id)
    local to = go and gone or kept
    to[#to + 1] = id
  end
  return gone, kept
end

local function clean_list()
  local n = rc('LLEN', key)
  local to = n - 1 - skip
  local from = window == 0 and 0 or math.max(0, to - window + 1)
  if to < 0 then return {}, 0, false end
  local ids = rc('LRANGE', key, from, to)
  local gone, kept = choose(L.reverse(ids), removable)
  L.reverse(gone)
  for _, id in ipairs(gone) do L.remove_job(B, id, true, now) end
  local stay = {}
  for _, id in ipairs(kept) do stay[id] = true end
  L.cut_list(key, from, to, L.reverse(ids), stay)
  return gone, #kept, from > 0
end

local function clean_set(ids, test)
  local gone, kept = choose(ids, test)
  for _, id in ipairs(gone) do L.remove_job(B, id, true, now) end
  L.bulk('ZREM', key, gone)
  return gone, #kept, window > 0 and #ids == window
end

local gone, kept, more
if state == 'wait' or state == 'paused' or state == 'active' then
  gone, kept, more = clean_list()
elseif state == 'delayed' or state == 'prioritized' then
  gone, kept, more = clean_set(rc('ZRANGE', key, skip, window == 0 and -1 or skip + window - 1), removable)
else
  local count = window == 0 and -1 or window
  gone, kept, more = clean_set(rc('ZRANGEBYSCORE', key, 0, ARGV[4], 'LIMIT', skip, count), function() return true end)
end
if state == 'active' and #gone > 0 then L.wake_for_slot(B) end
L.emit(B, 'cleaned', 'count', #gone)
local reply = { kept, more and 1 or 0 }
for _, id in ipairs(gone) do reply[#reply + 1] = id end
return reply
