-- The marker wakes workers: member '0' says that there may be a job to take, member '1' when the next delayed one is due.

-- Two answers: is the queue paused, and may nothing be taken from it now (paused, or as many active as it allows)? A script may give
-- what it knows of its own queue: L.meta, paused and concurrency, and L.leaving, how many jobs are about to leave `active`.
function L.blocked(b)
  local own = b == B
  local m = own and L.meta or rc('HMGET', b .. 'meta', 'paused', 'concurrency')
  if m[1] then return true, true end
  local most = tonumber(m[2] or nil) -- text limits nothing
  if not most then return false, false end
  return false, rc('LLEN', b .. 'active') - (own and L.leaving or 0) >= most
end

-- One marker is enough for a queue that is woken again and again: L.woken is the one that was last.
function L.wake(b, blocked)
  if blocked or L.woken == b then return end
  rc('ZADD', b .. 'marker', '0', '0')
  L.woken = b
end

-- Sets the marker of delayed jobs to the earliest one. Done also on a paused queue: due jobs must leave the delayed set.
function L.wake_delayed(b)
  local first = rc('ZRANGE', b .. 'delayed', 0, 0, 'WITHSCORES')
  if first[2] then rc('ZADD', b .. 'marker', tonumber(first[2]) / 4096, '1') end
end

-- Wakes a worker for a slot that nobody is about to use, where their number is limited: for what came while all were in use, nobody was.
function L.wake_for_slot(b)
  local m = rc('HMGET', b .. 'meta', 'paused', 'concurrency')
  local most = tonumber(m[2] or nil)
  if m[1] or not most or rc('LLEN', b .. 'active') >= most then return end
  if rc('EXISTS', b .. 'wait', b .. 'paused', b .. 'prioritized') > 0 then L.wake(b, false) else L.wake_delayed(b) end
end
