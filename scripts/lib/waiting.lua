-- needs: marker counter
-- Waiting jobs: the list (priority 0, next to run at the right end) and the prioritized set (lowest score first).

-- The list that plain jobs go to. Only 5.x sets the jobs of a paused queue aside.
function L.wait_key(b, paused)
  return b .. (paused and MODE == '5' and 'paused' or 'wait')
end

-- Counts the jobs that got a place among prioritized ones, n more.
function L.count_places(b, n)
  local now = L.counted(redis.pcall('INCRBY', b .. 'pc', int(n)))
  if now then return now end
  rc('SET', b .. 'pc', int(n)) -- it was no number: begun anew
  return n
end

-- Places a job among those of its priority, behind the ones that are there.
function L.add_prioritized(b, id, priority, blocked)
  local score = tonumber(priority) * 4294967296 + L.count_places(b, 1) % 4294967296
  rc('ZADD', b .. 'prioritized', int(score), id)
  L.wake(b, blocked)
end

-- Makes a job wait by its priority (text or number; nil or 0: none). Front puts a plain one first in line.
function L.add_waiting(b, id, priority, front, paused, blocked)
  if (tonumber(priority) or 0) > 0 then return L.add_prioritized(b, id, priority, blocked) end
  rc(front and 'RPUSH' or 'LPUSH', L.wait_key(b, paused), id)
  L.wake(b, blocked)
end
