-- Jobs that are in no state.

function L.in_a_state(b, id)
  for _, set in ipairs({ 'completed', 'failed', 'delayed', 'prioritized', 'waiting-children', 'repeat' }) do
    if rc('ZSCORE', b .. set, id) then return true end
  end
  for _, list in ipairs({ 'active', 'wait', 'paused' }) do
    if rc('LPOS', b .. list, id) then return true end
  end
  return rc('SISMEMBER', b .. 'stalled', id) == 1
end

-- What is kept of a job. A key of another type is of another queue: where the prefix of one is the name of the other,
-- "bull:a:b:failed" may be of job "b" of queue "a", or of queue "b" under the prefix "bull:a".
local PARTS = {
  { '', 'hash' }, { ':logs', 'list' }, { ':dependencies', 'set' }, { ':processed', 'hash' }, { ':failed', 'hash' },
  { ':unsuccessful', 'zset' }, { ':lock', 'string' },
}

-- Deletes what there is of a job in no state. Returns how many keys that were.
function L.delete_orphan(b, id)
  if L.in_a_state(b, id) then return 0 end
  local keys = {}
  for _, part in ipairs(PARTS) do
    local key = b .. id .. part[1]
    if rc('TYPE', key).ok == part[2] then keys[#keys + 1] = key end
  end
  return #keys > 0 and rc('DEL', unpack(keys)) or 0
end
