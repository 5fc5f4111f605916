-- lib: events lists
-- Pauses a queue. Where 5.x peers pause and resume, waiting jobs go to `paused`, as a 5.x resume expects.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode.  Reply: 0.
if MODE == '5' then L.join_lists(B, B .. 'paused', math.huge) end
rc('HSET', B .. 'meta', 'paused', '1')
rc('DEL', B .. 'marker')
L.emit(B, 'paused')
return 0
