-- lib: parent jobkeys waiting delayed marker events orphan
-- Repairs one problem that the audit found, if it is still there.
-- KEYS  1 a key of the queue
-- ARGV  1 base  2 mode  3 now (ms)  4 what  then its arguments, see the functions of R
-- Reply: 1 if something was repaired, else 0.
-- A new place is written before the old one is given up, so that a stop leaves a job in two places and never in none.
local now = tonumber(ARGV[3])
local LISTS = { 'wait', 'paused', 'active' }
local SETS = { 'prioritized', 'delayed', 'waiting-children', 'completed', 'failed' }

-- How often each container holds the id, and how many containers do.
local function places(id)
  local at, n = {}, 0
  for _, l in ipairs(LISTS) do
    local times = #rc('LPOS', B .. l, id, 'COUNT', 0)
    if times > 0 then at[l], n = times, n + 1 end
  end
  for _, s in ipairs(SETS) do
    if rc('ZSCORE', B .. s, id) then at[s], n = 1, n + 1 end
  end
  return at, n
end

local function is_job(id) return rc('TYPE', B .. id).ok == 'hash' end
local function pending(id) return rc('SCARD', B .. id .. ':dependencies') end
local function locked(id) return rc('EXISTS', B .. id .. ':lock') == 1 end

-- The finished state that a job's hash describes, or nil.
local function ending(id)
  local h = rc('HMGET', B .. id, 'finishedOn', 'returnvalue', 'failedReason')
  if not h[1] then return nil end
  if h[2] then return 'completed', h[1] end
  if h[3] then return 'failed', h[1] end
end

local function requeue(id)
  local h = rc('HMGET', B .. id, 'timestamp', 'delay', 'priority')
  local due = (tonumber(h[1]) or 0) + (tonumber(h[2]) or 0)
  if due > now then
    L.add_delayed(B, id, due)
    L.emit(B, 'delayed', 'jobId', id, 'delay', int(due))
    return L.wake_delayed(B)
  end
  local paused, blocked = L.blocked(B)
  L.add_waiting(B, id, h[3], false, paused, blocked)
  L.emit(B, 'waiting', 'jobId', id)
end

local R = {}

-- A job in no state goes back into the one that its keys describe.
function R.lost(id)
  local _, n = places(id)
  if n > 0 or not is_job(id) then return 0 end
  local state, at = ending(id)
  if locked(id) then rc('LPUSH', B .. 'active', id)
  elseif state then rc('ZADD', B .. state, at, id)
  elseif pending(id) > 0 then rc('ZADD', B .. 'waiting-children', int(now), id)
  else requeue(id) end
  return 1
end

-- Which of several places is the right one.
local function right_place(id, at)
  local state = ending(id)
  if state and at[state] then return state end
  if at.active and locked(id) then return 'active' end
  if at['waiting-children'] and pending(id) > 0 then return 'waiting-children' end
  for _, s in ipairs({ 'wait', 'paused', 'prioritized', 'delayed', 'active', 'waiting-children', 'completed', 'failed' }) do
    if at[s] then return s end
  end
end

-- A job in several states, or several times in a list, stays where it belongs.
function R.twice(id)
  local at, n = places(id)
  local keep = right_place(id, at)
  if n < 2 and (not keep or at[keep] < 2) then return 0 end
  for _, l in ipairs(LISTS) do
    if at[l] and l ~= keep then rc('LREM', B .. l, 0, id)
    elseif at[l] and at[l] > 1 then rc('LREM', B .. l, at[l] - 1, id) end
  end
  for _, s in ipairs(SETS) do
    if at[s] and s ~= keep then rc('ZREM', B .. s, id) end
  end
  return 1
end

-- An id that is no job leaves the state.
function R.ghost(state, id)
  if rc('EXISTS', B .. id) == 1 then return 0 end
  for _, l in ipairs(LISTS) do
    if l == state then return rc('LREM', B .. l, 0, id) > 0 and 1 or 0 end
  end
  return rc('ZREM', B .. state, id)
end

-- Keys of a job that does not exist are deleted.
function R.parts(id)
  if rc('EXISTS', B .. id) == 1 then return 0 end
  return L.delete_orphan(B, id) > 0 and 1 or 0
end

-- A finished job gets its time of finishing as its score.
function R.finished(id, state)
  local at = rc('HGET', B .. id, 'finishedOn')
  if not at or not tonumber(at) then return 0 end
  return rc('ZADD', B .. state, 'XX', 'CH', at, id)
end

-- A lock of a job that is not active is deleted; one without an end gets one.
function R.lock(id)
  local key = B .. id .. ':lock'
  if not rc('LPOS', B .. 'active', id) then return rc('DEL', key) end
  return rc('PTTL', key) == -1 and rc('PEXPIRE', key, 30000) or 0
end

-- A job gets the place of the priority in its hash.
function R.place(id)
  local score = rc('ZSCORE', B .. 'prioritized', id)
  local priority = tonumber(rc('HGET', B .. id, 'priority')) or 0
  if not score or priority > 0 and math.floor(tonumber(score) / 4294967296) == priority then return 0 end
  local paused, blocked = L.blocked(B)
  L.add_waiting(B, id, priority, false, paused, blocked)
  if priority <= 0 then rc('ZREM', B .. 'prioritized', id) end
  return 1
end

-- A counter that would give a number once more is set to the largest in use.
function R.counter(name, n)
  if (tonumber(rc('GET', B .. name)) or 0) >= tonumber(n) then return 0 end
  rc('SET', B .. name, n)
  return 1
end

-- A worker is woken. It looks for jobs and finds what there is.
function R.wake()
  local _, blocked = L.blocked(B)
  if rc('EXISTS', B .. 'wait', B .. 'paused', B .. 'prioritized') > 0 then L.wake(B, blocked) end
  L.wake_delayed(B)
  return 1
end

function R.marker(member)
  local score = tonumber(rc('ZSCORE', B .. 'marker', member) or 0)
  if member == '0' and score == 0 or member == '1' and score > 0 then return 0 end
  return rc('ZREM', B .. 'marker', member)
end

-- A deduplication id that nobody would ever free is freed.
function R.dedup(id)
  local key = B .. 'de:' .. id
  local holder = rc('GET', key)
  if not holder or rc('PTTL', key) ~= -1 then return 0 end
  local done = rc('ZSCORE', B .. 'completed', holder) or rc('ZSCORE', B .. 'failed', holder)
  if is_job(holder) and rc('HGET', B .. holder, 'deid') == id and not done then return 0 end
  return rc('DEL', key)
end

-- A parent stops waiting for a child that is gone, or gets the result of one that is completed.
function R.child(pid, key)
  local set = B .. pid .. ':dependencies'
  if rc('SISMEMBER', set, key) == 0 then return 0 end
  if rc('EXISTS', key) == 1 then
    local cb, cid = L.split(key)
    if not cb or rc('HGET', key, 'parentKey') ~= B .. pid or not rc('ZSCORE', cb .. 'completed', cid) then return 0 end
    rc('HSETNX', B .. pid .. ':processed', key, rc('HGET', key, 'returnvalue') or 'null')
  end
  if rc('SCARD', set) == 1 then L.release_waiting_parent(B, pid, now) end
  rc('SREM', set, key)
  return 1
end

-- A parent that waits for children and has none pending is released.
function R.release(id)
  if not rc('ZSCORE', B .. 'waiting-children', id) or pending(id) > 0 or rc('ZCARD', B .. id .. ':unsuccessful') > 0 then return 0 end
  L.release_waiting_parent(B, id, now)
  return 1
end

-- A rate limit without an end is removed.
function R.limiter()
  return rc('PTTL', B .. 'limiter') == -1 and rc('DEL', B .. 'limiter') or 0
end

return R[ARGV[4]](unpack(ARGV, 5))
