-- lib: waiting events move
-- Makes one delayed job wait.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 id.
-- Reply: 0. Codes: -1 no such job, -3 not delayed.
local id = ARGV[3]
local key = B .. id
local h = rc('HMGET', key, 'name', 'priority')
if not h[1] then
  rc('ZREM', B .. 'delayed', id)
  return -1
end
if not rc('ZSCORE', B .. 'delayed', id) then return -3 end
local paused, blocked = L.blocked(B)
-- A marker of 4.x at the head of the list is no job.
local list = L.wait_key(B, paused)
local head = rc('LINDEX', list, 0)
if head and string.sub(head, 1, 2) == '0:' then rc('LPOP', list) end
L.guarded(function()
  L.add_waiting(B, id, h[2], false, paused, blocked)
  rc('ZREM', B .. 'delayed', id)
end, function() L.unplace(B, id, 'delayed') end)
L.emit(B, 'waiting', 'jobId', id, 'prev', 'delayed')
rc('HSET', key, 'delay', '0')
return 0
