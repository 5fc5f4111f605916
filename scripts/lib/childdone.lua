-- needs: parent jobkeys foreign
-- What it means to a parent that a child is finished. `key` is the child's key, `pkey` the parent's, `parent` the child's field of that name.

-- The base and the id of a parent, and the child's policy: what the parent does when the child fails.
local function place(pkey, parent)
  local ok, p = pcall(cjson.decode, parent or '')
  local id = ok and type(p) == 'table' and (type(p.id) == 'string' or type(p.id) == 'number') and p.id
  if not id or type(p.queueKey) ~= 'string' then
    local pb, pid = L.split(pkey)
    return pb or '', pid or pkey -- a key of no queue is of no job
  end
  local policy = p.fpof and 'fpof' or p.cpof and 'cpof' or p.idof and 'idof' or p.rdof and 'rdof' or nil
  return p.queueKey .. ':', type(id) == 'number' and string.format('%.17g', id) or id, policy
end

-- Releases a parent, known by what a child keeps of it, if it waits for children and has none pending.
function L.tell_parent(pkey, parent, now)
  local pb, pid = place(pkey, parent)
  L.release_parent(pb, pid, now)
end

-- The same for one that is known to have none pending.
function L.tell_ready_parent(pkey, parent, now)
  local pb, pid = place(pkey, parent)
  if pb .. pid == pkey then L.release_waiting_parent(pb, pid, now) else L.release_parent(pb, pid, now) end
end

-- Releases a parent that waits for `key` alone, and then takes that off what it waits for: a stop before leaves it waiting for it.
local function done(key, pkey, pb, pid, now)
  local set = pkey .. ':dependencies'
  if pb .. pid == pkey and rc('SCARD', set) == 1 then L.release_waiting_parent(pb, pid, now) end
  rc('SREM', set, key)
  if pb .. pid ~= pkey then L.release_parent(pb, pid, now) end
end

function L.child_completed(key, pkey, parent, value, now)
  if rc('SISMEMBER', pkey .. ':dependencies', key) == 0 then return end
  rc('HSET', pkey .. ':processed', key, value)
  local pb, pid = place(pkey, parent)
  done(key, pkey, pb, pid, now)
end

-- Lets the parent fail when a worker takes it next. One that waits for its children, or for its time, is made to wait for a worker.
local function fail_parent(key, pkey, pb, pid, now)
  rc('ZADD', pkey .. ':unsuccessful', now, key)
  if rc('EXISTS', pkey) == 0 then return end
  local why = 'child ' .. key .. ' failed'
  if rc('ZSCORE', pb .. 'waiting-children', pid) then
    rc('HSET', pkey, 'defa', why)
    L.move_parent_from('waiting-children', pb, pid, now)
  elseif rc('ZSCORE', pb .. 'delayed', pid) then
    rc('HSET', pkey, 'delay', '0', 'defa', why)
    L.move_parent_from('delayed', pb, pid, now)
  elseif not rc('ZSCORE', pb .. 'failed', pid) then
    rc('HSET', pkey, 'defa', why)
  end
end

-- Without a policy the parent goes on waiting.
function L.child_failed(key, pkey, parent, reason, now)
  local pb, pid, policy = place(pkey, parent)
  local set = pkey .. ':dependencies'
  if not policy or rc('SISMEMBER', set, key) == 0 then return end
  if policy == 'cpof' or policy == 'idof' then rc('HSET', pkey .. ':failed', key, reason) end
  if policy == 'fpof' then
    fail_parent(key, pkey, pb, pid, now)
  elseif policy == 'cpof' then
    L.release_waiting_parent(pb, pid, now)
  else
    return done(key, pkey, pb, pid, now)
  end
  rc('SREM', set, key)
end
