-- lib: events lists marker
-- Resumes a queue, and takes back what was set aside in `paused`: never by a rename over a list that holds jobs.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 '1' in the first call, 4 how many jobs may change their list.
-- Reply: how many jobs are still set aside; call again until it is 0.
rc('HDEL', B .. 'meta', 'paused')
local left = L.join_lists(B, B .. 'wait', tonumber(ARGV[4]))
if rc('LLEN', B .. 'wait') + rc('ZCARD', B .. 'prioritized') > 0 then
  L.wake(B, false)
else
  L.wake_delayed(B)
end
if ARGV[3] == '1' then L.emit(B, 'resumed') end
return left
