-- lib: marker
-- Changes a limit of the queue, and wakes a worker that may now have something to take.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 'set', then fields of meta and their values;
--       'clear', then fields; or 'release': ends a rate limit in force.
-- Reply: 0.
local what = ARGV[3]
if what == 'release' then
  rc('DEL', B .. 'limiter')
else
  rc(what == 'set' and 'HSET' or 'HDEL', B .. 'meta', unpack(ARGV, 4))
end
local _, blocked = L.blocked(B)
if not blocked and rc('EXISTS', B .. 'wait', B .. 'paused', B .. 'prioritized') > 0 then L.wake(B, false) end
return 0
