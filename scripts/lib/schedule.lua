-- needs: delayed events jobkeys move
-- Schedulers. `repeat` has for each one, by its id, the time (ms) of the iteration that comes next: its slot. The hash `repeat:<id>`
-- says what it is, and `repeat:<id>:<slot>` is the job of a slot.

function L.slot_id(sid, slot) return 'repeat:' .. sid .. ':' .. int(slot) end

-- The slot of an interval after the one given (nil: there is none yet). A slot that has passed is made up for once, at once: those
-- after it keep their phase.
function L.next_slot(last, every, now, offset, start)
  if last then
    local slot = last + every
    if slot >= now then return slot end
  elseif start then
    return math.max(start, now)
  elseif offset == 0 then
    return now
  end
  local slot = math.floor(now / every) * every + offset
  return slot > now and slot or slot + every
end

-- Adds the job of a slot. `it` has name, data, opts (JSON text without its end), jid (JSON text of the id without slot and end),
-- priority, lifo, deid, cron. Returns its id and delay.
function L.add_iteration(b, sid, slot, it, now)
  local id, delay = L.slot_id(sid, slot), math.max(slot - now, 0)
  local key = b .. id
  local opts = it.opts .. ',"jobId":' .. it.jid .. int(slot) .. '","delay":' .. int(delay)
  if it.cron then opts = opts .. ',"prevMillis":' .. int(slot) end
  rc('INCR', b .. 'id')
  L.guarded(function()
    rc('HSET', key, 'name', it.name, 'data', it.data, 'opts', opts .. '}', 'timestamp', int(now), 'delay', int(delay),
      'priority', it.priority, 'rjk', sid)
    if it.deid ~= '' then rc('HSET', key, 'deid', it.deid) end
    L.emit(b, 'added', 'jobId', id, 'name', it.name)
    if delay > 0 then
      L.add_delayed(b, id, slot)
      L.emit_capped(b, 'delayed', 'jobId', id, 'delay', int(slot))
      L.wake_delayed(b)
    else
      local paused, blocked = L.blocked(b)
      L.add_waiting(b, id, it.priority, it.lifo, paused, blocked)
      L.emit_capped(b, 'waiting', 'jobId', id)
    end
  end, function()
    L.unplace(b, id)
    redis.pcall('DEL', key)
  end)
  return id, int(delay)
end

-- Takes a job that waits or is delayed out of its place. Nil: it is not in such a one.
function L.take_pending(b, id)
  if rc('ZREM', b .. 'delayed', id) == 1 or rc('ZREM', b .. 'prioritized', id) == 1 then return true end
  return rc('LREM', b .. 'wait', 1, id) == 1 or rc('LREM', b .. 'paused', 1, id) == 1 or nil
end

-- Whether a job waits or is delayed: it is going to run.
function L.pending(b, id)
  return rc('ZSCORE', b .. 'delayed', id) or rc('ZSCORE', b .. 'prioritized', id)
    or rc('LPOS', b .. 'wait', id) or rc('LPOS', b .. 'paused', id)
end
