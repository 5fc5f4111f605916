-- lib: events
-- Sets the progress of a job.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 id, 4 progress (JSON).  Reply: 0. Code: -1 no such job.
local key = B .. ARGV[3]
if rc('EXISTS', key) == 0 then return -1 end
rc('HSET', key, 'progress', ARGV[4])
L.emit_capped(B, 'progress', 'jobId', ARGV[3], 'data', ARGV[4])
return 0
