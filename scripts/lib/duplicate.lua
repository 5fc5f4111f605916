-- needs: events parent jobkeys
-- An add with the id of a job that is there already. That job stays as it is, but may get a parent.

-- Makes the existing job a child of `pkey`. A finished one counts as done at once, and lets the parent go when it was the
-- last one and `defer` is not set.
local function attach(b, id, pkey, parent, now, defer)
  local key = b .. id
  if rc('ZSCORE', b .. 'completed', id) then
    rc('HSET', pkey .. ':processed', key, rc('HGET', key, 'returnvalue') or 'null')
    if not defer then
      local pb, pid = L.split(pkey)
      if pb then L.release_parent(pb, pid, now) end
    end
  else
    rc('SADD', pkey .. ':dependencies', key)
  end
  rc('HSET', key, 'parentKey', pkey, 'parent', parent)
end

-- Returns nil, or -7 when the job belongs to another parent that still exists. Inside a flow (`defer`) the parent is told
-- of it, by a field that the end of the flow reads and removes.
function L.duplicate(b, id, pkey, parent, now, defer)
  if pkey then
    local old = rc('HGET', b .. id, 'parentKey')
    if old and old ~= pkey and rc('EXISTS', old) == 1 then
      if defer then rc('HSET', pkey, 'flowAttachmentFailed', '1') end
      return -7
    end
    attach(b, id, pkey, parent, now, defer)
  end
  L.emit_capped(b, 'duplicated', 'jobId', id)
end
