-- lazy: intake
-- Adds jobs in the order given.
-- KEYS: 1 any key of the queue.
-- ARGV: 1 base, 2 mode, 3 number of jobs, 4 time (ms) of the jobs that have none of their own, 5 '1' if one has a parent, else ''.
--   Then of each job: flags, name, data, options, and what its flags announce, in this order:
--   i: id | t: time (ms) | d: delay (ms) | p: priority | P: parent's key, parent as JSON | s: scheduler id |
--   D: deduplication id, its ttl (ms, 0: none), switches (e extend, r replace, k keep last, s reschedule).
--   Flags without a value: l first in line, w waits for its children, f part of a flow: parents are released at its end.
-- Reply: an id for each job ('' where it was refused), then pairs: number of a job and 1 (it is there already), -5 (its
--   parent does not exist) or -7 (it belongs to another parent).
local n, time = tonumber(ARGV[3]), ARGV[4]
local events = B .. 'events'
local meta = rc('HMGET', B .. 'meta', 'paused', 'concurrency', 'opts.maxLenEvents')
local max = meta[3]
-- Each job takes a number of the counter, but one whose parent does not exist: with parents, the count is not known before.
local before
if ARGV[5] == '' then
  before = rc('INCRBY', B .. 'id', ARGV[3]) - n
  if not max then
    max = '10000'
    rc('HSET', B .. 'meta', 'opts.maxLenEvents', max)
  end
end
local reply, notes, back = {}, {}, {}
local a, q = 6, nil
for i = 1, n do
  local flags = ARGV[a]
  if before and (flags == '' or flags == 't') then
    local id, name, made = int(before + i), ARGV[a + 1], time
    if flags == 't' then made = ARGV[a + 4] end
    rc('HSET', B .. id, 'name', name, 'data', ARGV[a + 2], 'opts', ARGV[a + 3], 'timestamp', made, 'delay', '0', 'priority', '0')
    rc('XADD', events, '*', 'event', 'added', 'jobId', id, 'name', name)
    if i < n then
      rc('XADD', events, '*', 'event', 'waiting', 'jobId', id)
    else -- once a call is enough to keep the stream short
      rc('XADD', events, 'MAXLEN', '~', max, '*', 'event', 'waiting', 'jobId', id)
    end
    back[#back + 1] = id
    reply[i] = id
    a = a + 4 + #flags
  else
    q = q or cold().intake(B, meta, max, time, back)
    q.cut = i == n
    local id, note
    id, a, note = cold().take_in(q, a + 4, before and before + i)
    reply[i] = id
    if note then
      notes[#notes + 1] = int(i)
      notes[#notes + 1] = int(note)
    end
  end
end
if back[1] then rc('LPUSH', B .. (meta[1] and MODE == '5' and 'paused' or 'wait'), unpack(back)) end
if q then cold().flush_intake(q) end
if (back[1] or q and q.wake) and not meta[1] and not (meta[2] and rc('LLEN', B .. 'active') >= tonumber(meta[2])) then
  rc('ZADD', B .. 'marker', '0', '0')
end
for k = 1, #notes do reply[n + k] = notes[k] end
return reply
