-- Removes lines of the log of a job.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 id, 4 how many of the last lines stay.
-- Reply: 0. Code: -1 no such job.
local key, keep = B .. ARGV[3], tonumber(ARGV[4])
if rc('EXISTS', key) == 0 then return -1 end
if keep > 0 then rc('LTRIM', key .. ':logs', -keep, -1) else rc('DEL', key .. ':logs') end
return 0
