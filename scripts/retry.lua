-- lib: waiting events reattach move
-- Makes one finished job wait again.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 id, 4 state ("failed" or "completed"), 5 and 6 '1': forget the attempts made, and those started.
-- Reply: 1. Codes: -1 no such job, -3 not in the state.
local id, state = ARGV[3], ARGV[4]
local key = B .. id
if rc('EXISTS', key) == 0 then return -1 end
if not rc('ZSCORE', B .. state, id) then return -3 end
local old = { 'finishedOn', 'processedOn', state == 'failed' and 'failedReason' or 'returnvalue' }
if ARGV[5] == '1' then old[#old + 1] = 'atm' end
if ARGV[6] == '1' then old[#old + 1] = 'ats' end
rc('HDEL', key, unpack(old))
local h = rc('HMGET', key, 'priority', 'parentKey', 'opts')
local ok, opts = pcall(cjson.decode, h[3] or '{}')
local lifo = ok and type(opts) == 'table' and opts.lifo == true
local paused, blocked = L.blocked(B)
L.guarded(function()
  L.add_waiting(B, id, h[1], lifo, paused, blocked)
  L.reattach(key, h[2], state)
  rc('ZREM', B .. state, id)
end, function() L.unplace(B, id) end)
L.emit_capped(B, 'waiting', 'jobId', id, 'prev', state)
return 1
