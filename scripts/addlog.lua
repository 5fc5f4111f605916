-- Adds a line to the log of a job.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 id, 4 line, 5 how many lines are kept (0: all).
-- Reply: how many lines there are. Code: -1 no such job.
local key, keep = B .. ARGV[3], tonumber(ARGV[5])
if rc('EXISTS', key) == 0 then return -1 end
local logs = key .. ':logs'
local n = rc('RPUSH', logs, ARGV[4])
if keep == 0 or n <= keep then return n end
rc('LTRIM', logs, -keep, -1)
return keep
