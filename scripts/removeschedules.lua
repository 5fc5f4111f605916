-- lib: events jobkeys
-- Removes schedules, with the next job of each if that is still delayed.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 owner: those of others are left; '': whoever's they are, 4 and on: ids.
-- Reply: for each id 1, or 0 when there was no such schedule.
local reply, owner = {}, ARGV[3]
for i = 4, #ARGV do
  local sid = ARGV[i]
  local slot = rc('ZSCORE', B .. 'repeat', sid)
  if owner ~= '' and rc('HGET', B .. 'repeat:' .. sid, 'gen:owner') ~= owner then slot = false end
  if slot then
    local id = 'repeat:' .. sid .. ':' .. int(tonumber(slot))
    if rc('ZSCORE', B .. 'delayed', id) then
      L.delete_job(B .. id)
      rc('ZREM', B .. 'delayed', id)
      L.emit(B, 'removed', 'jobId', id, 'prev', 'delayed')
    end
    rc('DEL', B .. 'repeat:' .. sid)
    rc('ZREM', B .. 'repeat', sid)
  end
  reply[#reply + 1] = slot and '1' or '0'
end
return reply
