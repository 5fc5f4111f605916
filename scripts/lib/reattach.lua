-- A finished child that is to run again: its parent waits for it anew, and forgets how it ended.
function L.reattach(key, pkey, state)
  if not pkey or pkey == '' or rc('EXISTS', pkey) == 0 then return end
  local function again() rc('SADD', pkey .. ':dependencies', key) end
  if state == 'completed' then
    if rc('HEXISTS', pkey .. ':processed', key) == 1 then
      again()
      rc('HDEL', pkey .. ':processed', key)
    end
  elseif rc('ZSCORE', pkey .. ':unsuccessful', key) then
    again()
    rc('ZREM', pkey .. ':unsuccessful', key)
  elseif rc('HEXISTS', pkey .. ':failed', key) == 1 then
    again()
    rc('HDEL', pkey .. ':failed', key)
  end
end
