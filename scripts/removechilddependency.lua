-- lib: parent jobkeys
-- Makes the parent of a job no longer wait for it.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 id, 4 now (ms).
-- Reply: 0, or 1 when there is no parent that waits for it. Codes: -1 no such job, -5 the parent does not exist.
local key = B .. ARGV[3]
if rc('EXISTS', key) == 0 then return -1 end
local pkey = rc('HGET', key, 'parentKey')
if not pkey or pkey == '' then return 1 end
if rc('EXISTS', pkey) == 0 then return -5 end
local pending = pkey .. ':dependencies'
if rc('SISMEMBER', pending, key) == 0 then return 1 end
local pb, pid = L.split(pkey)
if pb and rc('SCARD', pending) == 1 then L.release_waiting_parent(pb, pid, tonumber(ARGV[4])) end
L.guarded(function()
  rc('SREM', pending, key)
  rc('HDEL', key, 'parentKey', 'parent')
end, function() redis.pcall('SADD', pending, key) end)
return 0
