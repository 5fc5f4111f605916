-- Deletes those of the jobs named that are in no state.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 how many at most (0: all), then ids.
-- Reply: how many were deleted.
local most, n = tonumber(ARGV[3]), 0

local function in_a_state(id)
  for _, set in ipairs({ 'completed', 'failed', 'delayed', 'prioritized', 'waiting-children', 'repeat' }) do
    if rc('ZSCORE', B .. set, id) then return true end
  end
  for _, list in ipairs({ 'active', 'wait', 'paused' }) do
    if rc('LPOS', B .. list, id) then return true end
  end
  return rc('SISMEMBER', B .. 'stalled', id) == 1
end

-- What is kept of a job. A key of another type is of another queue: where the prefix of one is the name of the other,
-- "bull:a:b:failed" may be of job "b" of queue "a", or of queue "b" under the prefix "bull:a".
local PARTS = {
  { '', 'hash' }, { ':logs', 'list' }, { ':dependencies', 'set' }, { ':processed', 'hash' }, { ':failed', 'hash' },
  { ':unsuccessful', 'zset' }, { ':lock', 'string' },
}

local function delete(id)
  local keys = {}
  for _, part in ipairs(PARTS) do
    local key = B .. id .. part[1]
    if rc('TYPE', key).ok == part[2] then keys[#keys + 1] = key end
  end
  return #keys > 0 and rc('DEL', unpack(keys)) > 0
end

for i = 4, #ARGV do
  if most > 0 and n >= most then break end
  if not in_a_state(ARGV[i]) and delete(ARGV[i]) then n = n + 1 end
end
return n
