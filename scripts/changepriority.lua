-- lib: waiting move
-- Gives a job another priority; a waiting one changes its place.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 id, 4 priority, 5 '1': first of that priority.
-- Reply: 0. Code: -1 no such job.
local id, priority, lifo = ARGV[3], ARGV[4], ARGV[5] == '1'
local key = B .. id
if rc('EXISTS', key) == 0 then return -1 end

-- Where the job waits now: the set or a list; nil: nowhere.
local function place()
  if rc('ZSCORE', B .. 'prioritized', id) then return 'prioritized' end
  for _, list in ipairs({ 'wait', 'paused' }) do
    if rc('LPOS', B .. list, id) then return list end
  end
end

local old, some = place(), tonumber(priority) > 0
if old then
  local paused, blocked = L.blocked(B)
  L.guarded(function()
    if lifo and some then
      rc('ZADD', B .. 'prioritized', int(priority * 4294967296), id)
    else
      L.add_waiting(B, id, priority, lifo, paused, blocked)
    end
    -- In the same list it stands twice now: the old place is on the other side of the new one.
    if old ~= 'prioritized' then
      rc('LREM', B .. old, lifo and 1 or -1, id)
    elseif not some then
      rc('ZREM', B .. 'prioritized', id)
    end
  end, function()
    if some and old ~= 'prioritized' then
      redis.pcall('ZREM', B .. 'prioritized', id)
    elseif not some then
      local list = L.wait_key(B, paused)
      local n = redis.pcall('LPOS', list, id, 'COUNT', 2)
      if type(n) == 'table' and #n + (old == 'prioritized' and 1 or 0) > 1 then redis.pcall('LREM', list, lifo and -1 or 1, id) end
    end
  end)
end
rc('HSET', key, 'priority', priority)
return 0
