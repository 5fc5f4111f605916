-- needs: waiting delayed marker events jobkeys move
-- Jobs that wait for their children. `pb` and `pid` are the base and the id of the parent; its queue may be another one.

-- Makes a parent that is about to leave `waiting-children` (or was delayed) wait, or be delayed as its own options say. Quiet: without an event.
function L.move_parent(pb, pid, now, quiet)
  local h = rc('HMGET', pb .. pid, 'priority', 'delay')
  local delay = tonumber(h[2]) or 0
  if delay > 0 then
    local due = int(now + delay)
    rc('ZADD', pb .. 'delayed', int(tonumber(due) * 4096), pid)
    if not quiet then L.emit(pb, 'delayed', 'jobId', pid, 'delay', due) end
    return L.wake_delayed(pb)
  end
  local paused, blocked = L.blocked(pb)
  L.add_waiting(pb, pid, h[1], true, paused, blocked)
  if not quiet then L.emit(pb, 'waiting', 'jobId', pid, 'prev', 'waiting-children') end
end

-- Makes a parent wait, or be delayed, and takes it out of the set that it was in.
function L.move_parent_from(set, pb, pid, now, quiet)
  L.guarded(function()
    L.move_parent(pb, pid, now, quiet)
    rc('ZREM', pb .. set, pid)
  end, function() L.unplace(pb, pid, set) end)
end

-- Releases a parent that waits for children; one that does not is left alone.
function L.release_waiting_parent(pb, pid, now)
  if rc('EXISTS', pb .. pid) == 1 and rc('ZSCORE', pb .. 'waiting-children', pid) then
    L.move_parent_from('waiting-children', pb, pid, now)
  end
end

-- Releases a parent that waits for children and has none pending any more.
function L.release_parent(pb, pid, now)
  if rc('SCARD', pb .. pid .. ':dependencies') == 0 then L.release_waiting_parent(pb, pid, now) end
end
