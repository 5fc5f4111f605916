-- lib: waiting marker events counter move foreign
-- lazy: finish
-- Puts jobs whose lock is gone back to wait, and marks the active ones to be looked at next time.
-- KEYS  1 a key of the queue
-- ARGV  1 base  2 mode  3 now (ms)  4 time in which only one call does anything (ms)  5 how often a job may stall
--       6 '' in the first call; then what the call before answered first
-- Reply: '' when all is done, or what the next call is to be given; then the ids that wait again
-- The calls look first at all jobs that are marked ('stalled'), 250 each, and then mark those that are active, 1000 each, by their
-- place. One that is not made, or a job that changes its place meanwhile, is a job that is marked at the next check.
local look, mark, at = 250, 1000, ARGV[6]
local active, recovered = B .. 'active', {''}
if at == '' then
  if rc('EXISTS', B .. 'stalled-check') == 1 then return recovered end
  rc('SET', B .. 'stalled-check', ARGV[3], 'PX', ARGV[4])
  rc('XTRIM', B .. 'events', 'MAXLEN', '~', L.max_events(B))
end

-- Whether a job is made by a schedule that still exists: such a job may stall without limit.
local function scheduled(key)
  local rjk = rc('HGET', key, 'rjk')
  return rjk and (rc('EXISTS', B .. 'repeat:' .. rjk) == 1 or rc('ZSCORE', B .. 'repeat', rjk))
end

local function recover(id)
  local key = B .. id
  local times = L.count_up(key, 'stc')
  if times > tonumber(ARGV[5]) and not scheduled(key) then rc('HSET', key, 'defa', 'job stalled more than allowable limit') end
  L.leaving = 1
  local paused, blocked = L.blocked(B)
  L.leaving = nil
  L.guarded(function()
    rc('RPUSH', L.wait_key(B, paused), id)
    rc('LREM', active, 1, id)
  end, function() L.unplace(B, id, '') end)
  L.wake(B, blocked)
  L.emit(B, 'waiting', 'jobId', id, 'prev', 'active')
  L.emit(B, 'stalled', 'jobId', id)
  recovered[#recovered + 1] = id
end

-- A job without a lock that has another place too: a call that moved it was stopped before it left `active`. One that is finished is
-- finished once more for its parent and its deduplication id, which may not know of it.
local function moved_on(id, state)
  if state == 'completed' or state == 'failed' then L.passing(cold().conclude, B, id, state, tonumber(ARGV[3])) end
  rc('LREM', active, 0, id)
end

local marked = (at == '' or at == 'stalled') and rc('SRANDMEMBER', B .. 'stalled', look) or {}
table.sort(marked) -- the order of a set differs from server to server
for low = 1, #marked, 500 do
  local high, locks = math.min(low + 499, #marked), {}
  for i = low, high do locks[i - low + 1] = B .. marked[i] .. ':lock' end
  local held = rc('MGET', unpack(locks))
  for i = low, high do
    local id = marked[i]
    if string.sub(id, 1, 2) == '0:' then -- the marker of a very old version
      rc('LREM', active, 1, id)
    elseif not held[i - low + 1] and rc('LPOS', active, id) then
      local state = L.placed(B, id, true)
      if not L.is_job(B .. id) then
        rc('LREM', active, 0, id)
      elseif state then
        moved_on(id, state)
      else
        recover(id)
      end
    end
  end
end

for i = 1, #marked, 500 do rc('SREM', B .. 'stalled', unpack(marked, i, math.min(i + 499, #marked))) end
if #marked == look then
  recovered[1] = 'stalled'
  return recovered
end
local from = tonumber(at) or 0
local some = rc('LRANGE', active, from, from + mark - 1)
if #some > 0 then rc('SADD', B .. 'stalled', unpack(some)) end
if #some == mark then recovered[1] = int(from + mark) end
return recovered
