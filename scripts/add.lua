-- lazy: intake
-- Adds jobs in the order given.
-- KEYS: 1 any key of the queue.
-- ARGV: 1 base, 2 mode, 3 number of jobs (negative: one has a parent), 4 time (ms) of the jobs that have none of their own.
--   Then runs of jobs that differ in nothing but data and id. Of each run: flags, name, options, and what its flags announce, in
--   this order:
--   *: number of jobs (else 1) | t: time (ms) | d: delay (ms) | p: priority | P: parent's key, parent as JSON | s: schedule id |
--   D: deduplication id, its ttl (ms, 0: none), switches (e extend, r replace, k keep last, s reschedule) |
--   N: names, as JSON, under which jobs are of the same task: one with a parent is refused if its id is that of a job of another.
--   Flags without a value: i ids of their own, l first in line, w waits for its children, f part of a flow: parents are released
--   at its end. Then of each job of the run: data, and its id if it has one of its own.
-- Reply: the number that the queue's counter had before, alone or first of a list. The first job has the next one, and so on,
--   but for those with ids of their own and those that the list tells of. It has of each: number of the job, 0 (added), 1 (it
--   is there already), -5 (its parent does not exist), -7 (it belongs to another parent) or -10 (its id is that of a job of another
--   task), its id, and of one that is there, or of another task, the name under which it is stored (else '').
local argv, n, time = ARGV, tonumber(ARGV[3]), ARGV[4]
local events = B .. 'events'
local meta = rc('HMGET', B .. 'meta', 'paused', 'concurrency', 'opts.maxLenEvents')
local max = meta[3]
local before, q
local back, pushed, notes = {}, 0, nil

local function main()
  -- Each job takes a number of the counter, but one whose parent does not exist: with parents, the count is not known before.
  if n > 0 then
    before = rc('INCRBY', B .. 'id', argv[3]) - n
    if not max then
      max = '10000'
      rc('HSET', B .. 'meta', 'opts.maxLenEvents', max)
    end
  else
    n = -n
  end
  -- '%d' takes a third of the time of '%.0f', but where C has a `long` of 32 bits it goes no further than this.
  local format, form = string.format, before and before + n < 2147483648 and '%d' or '%.0f'
  local a, i = 5, 0
  while i < n do
    local flags = argv[a]
    local timed = flags == 't' or flags == '*t'
    if before and (timed or flags == '' or flags == '*') then
      local name, opts, last, made = argv[a + 1], argv[a + 2], i + 1, time
      a = a + 3
      if string.byte(flags) == 42 then last, a = i + tonumber(argv[a]), a + 1 end
      if timed then made, a = argv[a], a + 1 end
      -- A small hash is one piece of memory: it is copied from that of a job before sooner than made anew. Where this server makes no
      -- such hash of them, or lets us not copy, the jobs are the same.
      local small, like = last - i > 3 and #name <= 64 and #opts <= 64, nil
      repeat
        i = i + 1
        local id, data, copied = format(form, before + i), argv[a], nil
        local key = B .. id
        if like and #data <= 64 then copied = redis.pcall('COPY', like, key) end
        if copied == 1 then
          rc('HSET', key, 'data', data)
        else
          local new = rc('HSET', key, 'name', name, 'data', data, 'opts', opts, 'timestamp', made, 'delay', '0', 'priority', '0')
          if copied then
            small, like = false, nil
          elseif new == 6 and small and not like and #data <= 64 and rc('HLEN', key) == 6 then -- nothing was left of another job, such as a TTL
            like = key
          end
        end
        rc('XADD', events, '*', 'event', 'added', 'jobId', id, 'name', name)
        if i < n then
          rc('XADD', events, '*', 'event', 'waiting', 'jobId', id)
        else -- once a call is enough to keep the stream short
          rc('XADD', events, 'MAXLEN', '~', max, '*', 'event', 'waiting', 'jobId', id)
        end
        pushed, a = pushed + 1, a + 1
        back[pushed] = id
      until i == last
    else
      local L = cold()
      if not q then
        q = L.intake(B, meta, max, time, back)
        notes = {}
      end
      local run
      run, a = L.run(B, a)
      for _ = 1, run.count do
        i = i + 1
        q.cut = i == n
        local id, note
        id, a, note = L.take_in(q, run, a, before and (run.i and '' or format(form, before + i)))
        if note or not before then
          local k = #notes
          notes[k + 1], notes[k + 2], notes[k + 3] = i, note or 0, id
          notes[k + 4] = (note == 1 or note == -10) and rc('HGET', B .. id, 'name') or ''
        end
      end
      pushed = #back
    end
  end
  local list = B .. (meta[1] and MODE == '5' and 'paused' or 'wait')
  if pushed > 0 then rc('LPUSH', list, unpack(back)) end
  if q then
    cold().flush_intake(q)
    if next(q.old) then L.drop_replaced(q) end
  end
  if (pushed > 0 or q and q.wake) and not meta[1] and not (meta[2] and rc('LLEN', B .. 'active') >= (tonumber(meta[2]) or math.huge)) then
    rc('ZADD', B .. 'marker', '0', '0')
  end
  if notes and notes[1] then return { before or 0, unpack(notes) } end
  return before
end

-- All or nothing: what a call that fails has stored is taken back. Nobody else has the numbers that it took.
local ok, reply = pcall(main)
if ok then return reply end
if before then
  local keys = {}
  for id = before + 1, before + n do keys[#keys + 1] = B .. int(id) end
  for low = 1, #keys, 1000 do redis.pcall('DEL', unpack(keys, low, math.min(low + 999, #keys))) end
end
for i = 1, #back do
  if redis.pcall('LREM', B .. 'wait', 1, back[i]) ~= 1 then redis.pcall('LREM', B .. 'paused', 1, back[i]) end
end
if q then cold().undo_intake(q) end
error(type(reply) == 'table' and reply.err or reply, 0)
