-- lib: delayed
-- Gives a delayed job another due time.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 id, 4 delay (ms), 5 now (ms).
-- Reply: 0. Codes: -1 no such job, -3 not delayed.
local id = ARGV[3]
local key = B .. id
if rc('EXISTS', key) == 0 then return -1 end
if not rc('ZSCORE', B .. 'delayed', id) then return -3 end
local due = int(ARGV[5] + math.max(0, tonumber(ARGV[4])))
L.add_delayed(B, id, tonumber(due))
rc('HSET', key, 'delay', ARGV[4])
L.emit_capped(B, 'delayed', 'jobId', id, 'delay', due)
L.wake_delayed(B)
return 0
