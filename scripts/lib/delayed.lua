-- needs: waiting marker events move foreign
-- Delayed jobs: score = due ms * 4096 + place inside that millisecond.

-- The score that puts a job behind those that are due in the same millisecond.
function L.delayed_score(b, due)
  local low = due * 4096
  local high = (due + 1) * 4096 - 1
  local last = rc('ZREVRANGEBYSCORE', b .. 'delayed', int(high), int(low), 'WITHSCORES', 'LIMIT', 0, 1)[2]
  if not last then return low end
  last = tonumber(last)
  return last >= high and high or last + 1
end

-- Delays a job until `due` (ms).
function L.add_delayed(b, id, due)
  rc('ZADD', b .. 'delayed', int(L.delayed_score(b, due)), id)
end

-- Makes due jobs wait, at most 1000 at once. Returns how many.
function L.promote_due(b, now, paused, blocked)
  local due = rc('ZRANGEBYSCORE', b .. 'delayed', 0, int((now + 1) * 4096 - 1), 'LIMIT', 0, 1000)
  local n = #due
  if n == 0 then return 0 end
  local moved = 0
  L.guarded(function()
    for i = 1, n do
      local id = due[i]
      local key = b .. id
      local priority = redis.pcall('HGET', key, 'priority')
      local foreign = type(priority) == 'table' and L.is_foreign(priority)
      if not foreign and (priority or rc('EXISTS', key) == 1) then -- an id without a job is dropped
        moved = i
        L.add_waiting(b, id, priority, false, paused, true)
        L.emit(b, 'waiting', 'jobId', id, 'prev', 'delayed')
        rc('HSET', key, 'delay', '0')
      end
    end
    rc('ZREM', b .. 'delayed', unpack(due))
  end, function()
    for i = 1, moved do L.unplace(b, due[i], 'delayed') end
  end)
  L.wake(b, blocked)
  return n
end
