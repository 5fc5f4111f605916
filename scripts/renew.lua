-- Makes locks last on.
-- KEYS  1 a key of the queue
-- ARGV  1 base  2 mode  3 time from now (ms)  4... of each lock: job id, token
-- Reply: the ids whose lock is gone or held with another token
local lost, n = {}, (#ARGV - 3) / 2
for low = 1, n, 500 do
  local high, locks, kept = math.min(low + 499, n), {}, {}
  for i = low, high do locks[i - low + 1] = B .. ARGV[2 * i + 2] .. ':lock' end
  local held = rc('MGET', unpack(locks))
  for i = low, high do
    local id, token, j = ARGV[2 * i + 2], ARGV[2 * i + 3], i - low + 1
    if held[j] == token then
      rc('PEXPIRE', locks[j], ARGV[3])
      kept[#kept + 1] = id
    else
      lost[#lost + 1] = id
    end
  end
  if #kept > 0 then rc('SREM', B .. 'stalled', unpack(kept)) end
end
return lost
