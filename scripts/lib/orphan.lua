-- Jobs that are in no state.

local function in_a_set(b, id)
  for _, set in ipairs({ 'completed', 'failed', 'delayed', 'prioritized', 'waiting-children', 'repeat' }) do
    if rc('ZSCORE', b .. set, id) then return true end
  end
  return rc('SISMEMBER', b .. 'stalled', id) == 1
end

-- Those of the ids that are in no state. Lists are gone through once for all ids: to look for each in a long one costs
-- a hundred times as much.
function L.in_no_state(b, ids)
  local left, n = {}, 0
  for _, id in ipairs(ids) do
    if not left[id] and not in_a_set(b, id) then
      left[id] = true
      n = n + 1
    end
  end
  for _, list in ipairs({ 'active', 'wait', 'paused' }) do
    local from = 0
    while n > 0 do
      local part = rc('LRANGE', b .. list, from, from + 4999)
      for _, id in ipairs(part) do
        if left[id] then
          left[id] = nil
          n = n - 1
        end
      end
      if #part < 5000 then break end
      from = from + 5000
    end
  end
  local out = {}
  for _, id in ipairs(ids) do
    if left[id] then out[#out + 1] = id end
    left[id] = nil
  end
  return out
end

-- What is kept of a job. A key of another type is of another queue: where the prefix of one is the name of the other,
-- "bull:a:b:failed" may be of job "b" of queue "a", or of queue "b" under the prefix "bull:a".
local PARTS = {
  { '', 'hash' }, { ':logs', 'list' }, { ':dependencies', 'set' }, { ':processed', 'hash' }, { ':failed', 'hash' },
  { ':unsuccessful', 'zset' }, { ':lock', 'string' },
}

-- Deletes all that there is of a job. Returns how many keys that were.
function L.delete_orphan(b, id)
  local keys = {}
  for _, part in ipairs(PARTS) do
    local key = b .. id .. part[1]
    if rc('TYPE', key).ok == part[2] then keys[#keys + 1] = key end
  end
  return #keys > 0 and rc('DEL', unpack(keys)) or 0
end
