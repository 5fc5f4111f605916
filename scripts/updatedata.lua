-- Replaces the payload of a job.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 id, 4 data (JSON).  Reply: 0. Code: -1 no such job.
local key = B .. ARGV[3]
if rc('EXISTS', key) == 0 then return -1 end
rc('HSET', key, 'data', ARGV[4])
return 0
