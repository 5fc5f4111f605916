-- lib: waiting
-- Gives a job another priority; a waiting one changes its place.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 id, 4 priority, 5 '1': first of that priority.
-- Reply: 0. Code: -1 no such job.
local id, priority, lifo = ARGV[3], ARGV[4], ARGV[5] == '1'
local key = B .. id
if rc('EXISTS', key) == 0 then return -1 end

local function taken_out()
  return rc('ZREM', B .. 'prioritized', id) == 1
    or rc('LREM', B .. 'wait', -1, id) > 0
    or rc('LREM', B .. 'paused', -1, id) > 0
end

if taken_out() then
  if lifo and tonumber(priority) > 0 then
    rc('ZADD', B .. 'prioritized', int(priority * 4294967296), id)
  else
    local paused, blocked = L.blocked(B)
    L.add_waiting(B, id, priority, lifo, paused, blocked)
  end
end
rc('HSET', key, 'priority', priority)
return 0
