-- lazy: outcome again metrics delayed marker
-- Settles jobs that were taken, and takes others, in one call.
--
-- Whatever is common to many jobs is done once for all. A job is settled in bulk if it is completed, has no children, no parent and no
-- deduplication id, and is kept as the call says; the others follow one after the other in the order given, but those that go back to
-- wait last, from the last to the first, so that the first stands first in line. The state after the call is the one that settling
-- them singly in that order leaves.
--
-- KEYS  1 a key of the queue
-- ARGV  1 base  2 mode  3 now (ms)  4 how many to take  5 token to take with ('0': no locks)  6 time of locks (ms)
--       7 the worker's name, or ''  8, 9 the worker's rate limit: jobs, ms; or ''  10 minutes of metrics to keep, or 0
--       11 '1' if the answer to the same call was lost  12 a letter for each job to be settled:
--            c completed, kept as 13 to 15 say   k completed, kept otherwise   f failed   r retry now   d retry later   u delayed
--            w back to wait   p wait for children
--       13 to 15 of c: how many are kept (-1: all, 0: none), for how long (ms; 0: ever), how many of the old ones go at a time
--       16... of each job: id, token, and its value (c, k), reason (f, r, d) or child (p)
--       then of each job that is no c: stack, telemetry context, number (f: its attempts, r: 1 to be first in line, d and u: delay
--       in ms), and of k and f what 13 to 15 are of c
-- Reply, flat: how long no job may start (ms), when the next delayed one is due (ms), how many jobs were not settled, place and code
--       of each of these, and then of each job taken: its id, how many values follow, and these: the fields of its hash, name and value;
--       or 0, and of a new job only the values of name, data, opts, timestamp, delay and priority.
-- Codes: -1 no job, -2 no lock, -3 not active, -4 pending children, -6 locked with another token, -9 failed children, 1 no such child
local now, wanted, token, worker, kinds = ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[7], ARGV[12]
local count, age, limit = tonumber(ARGV[13]), tonumber(ARGV[14]), tonumber(ARGV[15])
local n, again = #kinds, ARGV[11] == '1'
local active, events = B .. 'active', B .. 'events'
local min, byte = math.min, string.byte
local meta = rc('HMGET', B .. 'meta', 'paused', 'concurrency', 'max', 'duration', 'opts.maxLenEvents')
local refused, r, completed, failed, settled = {}, 0, 0, 0, 0

local function refuse(i, code)
  refused[r + 1], refused[r + 2] = i, code
  r = r + 2
end

if n > 0 then
  -- The jobs that are settled one by one: their places, whether they stay in `active` until then, and where their extras begin.
  local single, s, alone, extra = {}, 0, {}, {}
  local seen, x = {}, 3 * n + 10
  -- A job that is taken by a worker with a name has 9 fields, or 8: any more means that something has happened to it.
  local usual = worker == '' and 8 or 9
  if string.find(kinds, 'r', 1, true) then -- jobs that are due stand before a retried one in line
    local paused, blocked = cold().blocked(B)
    cold().promote_due(B, tonumber(now), paused, blocked)
  end

  for low = 1, n, 250 do -- Lua puts no more than some thousands of arguments on its stack
    local high = min(low + 249, n)

    -- Who holds these jobs, and has any of them children?
    local keys, locks, kin, k = {}, {}, {}, 0
    for i = low, high do
      local key = B .. ARGV[3 * i + 13]
      local j = i - low + 1
      keys[j], locks[j] = key, key .. ':lock'
      kin[k + 1], kin[k + 2] = key .. ':dependencies', key .. ':unsuccessful'
      k = k + 2
      if count == 0 then
        kin[k + 1], kin[k + 2], kin[k + 3] = key .. ':logs', key .. ':processed', key .. ':failed'
        k = k + 3
      end
    end
    local held = rc('MGET', unpack(locks))
    local more = rc('EXISTS', unpack(kin)) > 0

    -- Which of them may go, and which in bulk?
    local leaving, l, whose, free, unlock, u = {}, 0, {}, {}, {}, 0
    local ids, values, made, done, v = {}, {}, {}, {}, 0
    for i = low, high do
      local j, a = i - low + 1, 3 * i + 13
      local id, own, key, kind = ARGV[a], ARGV[a + 1], keys[i - low + 1], byte(kinds, i)
      if kind ~= 99 then
        x = x + 6
        extra[i] = x
      end
      local len = rc('HLEN', key)
      if len == 0 then
        refuse(i, -1)
      elseif seen[id] or kind == 112 or more and (kind == 99 or kind == 107) and rc('EXISTS', key .. ':dependencies', key .. ':unsuccessful') > 0 then
        s = s + 1
        single[s], alone[i], seen[id] = i, true, true
      elseif own ~= '0' and held[j] ~= own then
        refuse(i, held[j] and -6 or -2)
      else
        local attempt = '1'
        if kind == 99 then
          if len ~= usual then
            local h = rc('HMGET', key, 'parentKey', 'deid', 'atm')
            attempt = (h[3] or 0) + 1 .. ''
            if h[1] or h[2] then attempt = false end
          end
        else
          attempt = false
          if kind == 102 or kind == 114 or kind == 100 then cold().note_failure(key, ARGV[a + 2], ARGV[x], ARGV[x + 1]) end
        end
        if attempt then
          v = v + 1
          ids[v], values[v], made[v], done[v] = id, ARGV[a + 2], attempt, key
        else
          s = s + 1
          single[s] = i
        end
        l = l + 1
        leaving[l], whose[id], seen[id] = id, i, true
        if own ~= '0' then
          u = u + 1
          free[u], unlock[u] = id, locks[j]
        end
      end
    end

    -- Out of `active`. Jobs of one batch often are the tail of the list: it is popped, and what else was in it put back. What is not
    -- there is looked for, or filtered out of the whole list if that is much.
    local left = l
    if l > 1 then
      local tail, back, t = rc('RPOP', active, l) or {}, {}, 0
      for i = #tail, 1, -1 do
        local id = tail[i]
        if whose[id] then
          whose[id] = nil
          left = left - 1
        else
          t = t + 1
          back[t] = id
        end
      end
      if t > 0 then rc('RPUSH', active, unpack(back)) end
    end
    if left > 12 then
      local all, rest, t = rc('LRANGE', active, 0, -1), {}, 0
      for i = 1, #all do
        local id = all[i]
        if whose[id] then
          whose[id] = nil
          left = left - 1
        else
          t = t + 1
          rest[t] = id
        end
      end
      rc('DEL', active)
      for i = 1, t, 1000 do rc('RPUSH', active, unpack(rest, i, min(i + 999, t))) end
    elseif left > 0 then
      for i = 1, l do
        local id = leaving[i]
        if whose[id] and rc('LREM', active, -1, id) == 1 then
          whose[id] = nil
          left = left - 1
        end
      end
    end
    if left > 0 then -- some were not there: they lose their lock and nothing else is done
      local stay, lost = 0, {}
      for i = 1, v do
        local id = ids[i]
        if not whose[id] then
          stay = stay + 1
          ids[stay], values[stay], made[stay], done[stay] = id, values[i], made[i], done[i]
        end
      end
      v = stay
      for id, i in pairs(whose) do lost[i] = true end
      for i = low, high do if lost[i] then refuse(i, -3) end end
      stay = 0
      for i = 1, s do
        if not lost[single[i]] then
          stay = stay + 1
          single[stay] = single[i]
        end
      end
      for i = stay + 1, s do single[i] = nil end
      s = stay
    end

    -- Locks, and jobs that are not kept.
    if u > 0 then rc('SREM', B .. 'stalled', unpack(free)) end
    if count == 0 then
      for i = 1, v do unlock[u + i] = done[i] end
      u = u + v
      if more then
        for i = 1, v do
          local key = done[i]
          rc('DEL', key .. ':logs', key .. ':processed', key .. ':failed')
        end
      end
    end
    if u > 0 then rc('DEL', unpack(unlock)) end

    if v > 0 then
      if count ~= 0 then
        local z = {}
        for i = 1, v do
          z[2 * i - 1], z[2 * i] = now, ids[i]
          rc('HSET', done[i], 'returnvalue', values[i], 'finishedOn', now, 'atm', made[i])
        end
        rc('ZADD', B .. 'completed', unpack(z))
      end
      if not meta[5] then
        meta[5] = '10000'
        rc('HSET', B .. 'meta', 'opts.maxLenEvents', meta[5])
      end
      for i = 1, v - 1 do rc('XADD', events, '*', 'event', 'completed', 'jobId', ids[i], 'returnvalue', values[i], 'prev', 'active') end
      rc('XADD', events, 'MAXLEN', '~', meta[5], '*', 'event', 'completed', 'jobId', ids[v], 'returnvalue', values[v], 'prev', 'active')
      completed = completed + v
    end
  end

  if completed > 0 and (count > 0 or age > 0) then cold().retain(B, 'completed', now, count, age, limit, completed) end
  if s > 0 then
    local settle = cold().settle
    local function one(i, kind)
      local a = 3 * i + 13
      local code = settle(B, kind, ARGV[a], ARGV[a + 1], ARGV[a + 2], extra[i], now, alone[i], count, age, limit)
      if code then
        refuse(i, code)
      elseif kind == 'c' or kind == 'k' then
        completed = completed + 1
      elseif kind == 'f' then
        failed = failed + 1
      else
        settled = settled + 1
      end
    end
    for j = 1, s do
      local kind = string.sub(kinds, single[j], single[j])
      if kind ~= 'w' then one(single[j], kind) end
    end
    for j = s, 1, -1 do
      local kind = string.sub(kinds, single[j], single[j])
      if kind == 'w' then one(single[j], kind) end
    end
  end
  settled = settled + completed + failed

  local points = tonumber(ARGV[10])
  if points > 0 then
    if completed > 0 then cold().count_finished(B, 'completed', now, points, completed) end
    if failed > 0 then cold().count_finished(B, 'failed', now, points, failed) end
  end

  if again then
    local pairs_left = 0
    for j = 1, r, 2 do
      local i, code = refused[j], refused[j + 1]
      local a = 3 * i + 13
      local lost = code == -1 or code == -2 or code == -6 or code == -3 and ARGV[a + 1] == '0'
      if not lost or not cold().settled_before(B, string.sub(kinds, i, i), ARGV[a], ARGV[a + 2], extra[i], now, count, age) then
        refused[pairs_left + 1], refused[pairs_left + 2] = i, code
        pairs_left = pairs_left + 2
      end
    end
    r = pairs_left
  end
end

local out, o = {0, 0, r / 2}, r + 3
for i = 1, r do out[3 + i] = refused[i] end

-- Reports a job with all fields of its hash.
local function report(id, key)
  local h = rc('HGETALL', key)
  local size = #h
  out[o + 1], out[o + 2] = id, size
  for i = 1, size do out[o + 2 + i] = h[i] end
  o = o + 2 + size
end

local taken, limited, due, blocked = 0, 0, 0, false
local want, max = wanted, meta[3] or ARGV[8] ~= '' and ARGV[8]
if again and want > 0 and token ~= '0' then
  local found = cold().taken_before(B, token)
  for i = 1, #found do
    local key = B .. found[i]
    rc('PEXPIRE', key .. ':lock', ARGV[6])
    report(found[i], key)
  end
  taken = #found
  if taken > 0 then want = 0 end -- what the first sending left was not to be had
end
if L and L.back then
  -- A job that went back because of a limit would be the next one taken: where no maximum is set, the count of a limit set by hand is one.
  local used, ttl = tonumber(rc('GET', B .. 'limiter') or 0), rc('PTTL', B .. 'limiter')
  if ttl > 0 and used >= tonumber(max or 9007199254740991) then limited = ttl end
end

if want > 0 then
  local time = tonumber(now)
  local first = rc('ZRANGE', B .. 'delayed', 0, 0, 'WITHSCORES')
  if first[2] and math.floor(first[2] / 4096) <= time then
    local paused, full = cold().blocked(B)
    cold().promote_due(B, time, paused, full)
    first = rc('ZRANGE', B .. 'delayed', 0, 0, 'WITHSCORES')
  end

  -- How many jobs do rate limit, pause and concurrency leave room for?
  local limiter, room = B .. 'limiter', nil
  if max and limited == 0 then
    room = max - (rc('GET', limiter) or 0)
    if room <= 0 then
      local ttl = rc('PTTL', limiter)
      if ttl > 0 then
        limited = ttl
      elseif ttl == 0 then
        rc('DEL', limiter)
        room = tonumber(max)
      else
        room = nil -- a count that never ends limits nothing
      end
    end
  end
  if limited > 0 then
    want = 0
  elseif meta[1] then
    want, blocked = 0, true
  elseif meta[2] then
    local slots = meta[2] - rc('LLEN', active)
    if slots <= 0 then blocked = true end
    want = min(want, slots)
  end

  while want > 0 and (not room or room > 0) do
    local ask = min(want, 250, room or want)
    local got = rc('RPOP', B .. 'wait', ask) or {}
    local g = #got
    local short = false
    if g < ask then
      local best = rc('ZPOPMIN', B .. 'prioritized', ask - g)
      if #best < 2 * (ask - g) then
        short = true
        rc('DEL', B .. 'pc')
      end
      for i = 1, #best, 2 do
        g = g + 1
        got[g] = best[i]
      end
    end
    for i = g, 1, -1 do -- ids of this form are the markers of very old versions
      if byte(got[i]) == 48 and byte(got[i], 2) == 58 then
        table.remove(got, i)
        g = g - 1
      end
    end
    if g > 0 then rc('LPUSH', active, unpack(got)) end

    local counted = 0
    for i = 1, g do
      local id = got[i]
      local key = B .. id
      if token ~= '0' then rc('SET', key .. ':lock', token, 'PX', ARGV[6]) end
      rc('XADD', events, '*', 'event', 'active', 'jobId', id, 'prev', 'waiting')
      local h = rc('HLEN', key) == 6 and rc('HMGET', key, 'name', 'data', 'opts', 'timestamp', 'delay', 'priority')
      if h and h[1] and h[2] and h[3] and h[4] and h[5] and h[6] then
        if worker == '' then
          rc('HSET', key, 'processedOn', now, 'ats', '1')
        else
          rc('HSET', key, 'processedOn', now, 'ats', '1', 'pb', worker)
        end
        out[o + 1], out[o + 2], out[o + 3], out[o + 4], out[o + 5], out[o + 6], out[o + 7], out[o + 8] = id, 0, h[1], h[2], h[3], h[4], h[5], h[6]
        o = o + 8
        counted = counted + 1
      else
        rc('HSET', key, 'processedOn', now)
        if worker ~= '' then rc('HSET', key, 'pb', worker) end
        rc('HINCRBY', key, 'ats', 1)
        report(id, key)
        -- A job that is only to be failed uses nothing of a rate limit.
        if not max or rc('HEXISTS', key, 'defa') == 0 then counted = counted + 1 end
      end
    end
    if max and counted > 0 then
      if rc('INCRBY', limiter, counted) == counted then
        rc('PEXPIRE', limiter, int(math.floor(math.abs(tonumber(ARGV[9] ~= '' and ARGV[9] or meta[4] or 0)))))
      end
      if room then room = room - counted end
    end
    taken, want = taken + g, want - g
    if short then break end
  end

  if taken > 0 then
    rc('ZADD', B .. 'marker', '0', '0')
    if want > 0 and room and room <= 0 then limited = math.max(0, rc('PTTL', limiter)) end
  elseif limited == 0 and not blocked and first[2] then
    due = math.floor(first[2] / 4096)
  end
end

if settled > 0 then
  if taken == 0 then
    local waiting = rc('EXISTS', B .. 'wait', B .. 'prioritized')
    if waiting == 0 then
      if completed + failed > 0 and (wanted == 0 or limited == 0 and not blocked and due == 0) and rc('EXISTS', active) == 0 then
        rc('XADD', events, '*', 'event', 'drained')
      end
    elseif wanted == 0 and meta[2] and not meta[1] and rc('LLEN', active) < tonumber(meta[2]) then
      -- Nobody was woken for what waits while all slots of the queue were in use.
      rc('ZADD', B .. 'marker', '0', '0')
    end
  end
  if L and L.delayed then L.wake_delayed(B) end
end
out[1], out[2] = limited, due
return out
