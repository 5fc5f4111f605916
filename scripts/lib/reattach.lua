-- A finished child that is to run again: its parent waits for it anew, and forgets how it ended.
function L.reattach(key, pkey, state)
  if not pkey or pkey == '' or rc('EXISTS', pkey) == 0 then return end
  local found
  if state == 'failed' then
    found = rc('ZREM', pkey .. ':unsuccessful', key) == 1 or rc('HDEL', pkey .. ':failed', key) == 1
  else
    found = rc('HDEL', pkey .. ':processed', key) == 1
  end
  if found then rc('SADD', pkey .. ':dependencies', key) end
end
