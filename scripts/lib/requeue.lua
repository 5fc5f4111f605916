-- needs: waiting delayed marker events counter
-- Jobs that have left `active` and are to run again.

-- Counts the attempt, and makes the job wait: behind the others, or first in line.
function L.retry_now(b, id, first)
  local key = b .. id
  L.count_up(key, 'atm') -- before it can be taken again: a stop in between would leave the attempt uncounted
  local paused, blocked = L.blocked(b)
  L.add_waiting(b, id, rc('HGET', key, 'priority'), first, paused, blocked)
  L.emit_capped(b, 'waiting', 'jobId', id, 'prev', 'active')
end

-- Delays the job by `delay` (ms) from now; counted: this was an attempt. The marker is the caller's to set, when all jobs are delayed.
function L.retry_later(b, id, now, delay, counted)
  local key = b .. id
  local due = delay > 0 and now + delay or now
  if counted then L.count_up(key, 'atm') end
  rc('HSET', key, 'delay', int(delay))
  L.add_delayed(b, id, due)
  L.emit_capped(b, 'delayed', 'jobId', id, 'delay', int(due))
end

-- Makes the job wait before all others of its priority. Unlike the peers' way it wakes workers for a prioritized one too.
function L.back_to_wait(b, id)
  local priority = tonumber(rc('HGET', b .. id, 'priority')) or 0
  local paused, blocked = L.blocked(b)
  if priority > 0 then
    rc('ZADD', b .. 'prioritized', int(priority * 4294967296), id)
  else
    rc('RPUSH', L.wait_key(b, paused), id)
  end
  L.wake(b, blocked)
  L.emit_capped(b, 'waiting', 'jobId', id, 'prev', 'active')
end
