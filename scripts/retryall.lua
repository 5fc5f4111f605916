-- lib: waiting events reattach bulk move foreign
-- Makes many finished or delayed jobs wait.
-- KEYS: 1 any key of the queue.
-- ARGV: 1 base, 2 mode, 3 state ("failed", "completed" or "delayed"), 4 how many at most, 5 highest score.
-- Reply: how many jobs left the state.
local state, set = ARGV[3], B .. ARGV[3]
local paused, blocked = L.blocked(B)
local ids = rc('ZRANGEBYSCORE', set, 0, ARGV[5], 'LIMIT', 0, ARGV[4])

local plain, others, done = {}, false, 0

local function move(id)
  local key = B .. id
  local h = L.fields(key, 'name', 'priority', 'parentKey')
  -- An id without a job is dropped: a worker could do nothing with it.
  if h and h[1] then
    if state == 'delayed' then
      rc('HSET', key, 'delay', '0')
    else
      rc('HDEL', key, 'finishedOn', 'processedOn', state == 'failed' and 'failedReason' or 'returnvalue')
      L.passing(L.reattach, key, h[3], state)
    end
    L.emit_capped(B, 'waiting', 'jobId', id, 'prev', state)
    if (tonumber(h[2]) or 0) > 0 then
      L.add_prioritized(B, id, h[2], true)
      others = true
    else
      plain[#plain + 1] = id
    end
  end
end

L.guarded(function()
  for i, id in ipairs(ids) do
    done = i
    move(id)
  end
  L.bulk('LPUSH', L.wait_key(B, paused), plain)
  L.bulk('ZREM', set, ids)
end, function()
  for i = 1, done do L.unplace(B, ids[i], state) end
end)
if others or #plain > 0 then L.wake(B, blocked) end
return #ids
