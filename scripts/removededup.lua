-- Frees a deduplication id if the job named holds it.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 deduplication id, 4 id of the job.
-- Reply: 1, or 0: the job does not hold it.
local key = B .. 'de:' .. ARGV[3]
if rc('GET', key) ~= ARGV[4] then return 0 end
return rc('DEL', key)
