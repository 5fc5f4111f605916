-- lazy: outcome again metrics delayed marker report counter foreign
-- Settles jobs that were taken, and takes others, in one call.
--
-- Whatever is common to many jobs is done once for all. A job is settled in bulk if it is completed, has no children, no deduplication
-- id and no steps, and is kept as the call says; one with a parent only if all of the call can be. The others follow one after the other in the order given, but those that go back to
-- wait last, from the last to the first, so that the first stands first in line. The state after the call is the one that settling
-- them singly in that order leaves. Due jobs are made to wait before all this if one is retried at once, and after it if any are to
-- be taken.
--
-- KEYS  1 a key of the queue
-- ARGV  1 base  2 mode  3 now (ms)  4 how many to take  5 token to take with ('0': no locks)  6 time of locks (ms)
--       7 the worker's name, or ''  8 a letter for each job to be settled:
--            c completed, kept as 9 says   t c with the token of the job before it   e c with its token and value
--            k completed, kept otherwise   f failed   r retry now   d retry later   u delayed   w back to wait   p wait for children
--       9 '' or, in one text, what is kept of c: how many (-1: all, 0: none), for how long (ms; 0: ever), how many of the old ones go
--            at a time; the worker's rate limit, jobs and ms, each of which may be empty; minutes of metrics to keep, or 0; 1 if the
--            answer to the same call was lost, or 0
--       10... of each job: id, token, and its value (c, k), reason (f, r, d) or child (p); of t without token, of e the id alone
--       then of each job that is no c, t or e: stack, telemetry context, number (f: its attempts, r: 1 to be first in line, w: 1 if it
--       was never run, d and u: delay in ms), and of k and f how many are kept, for how long, and how many go at a time
-- Reply, flat, of parts that begin with what they are:
--       r  a job that was not settled: place, code   l  no job may start for so long (ms)   d  when the next delayed one is due (ms)
--       n  so many new jobs that waited without delay and priority: name, opts and timestamp of all, and id and data of each
--       -n so many of such children: the same, and of all also parentKey and parent, before ids and data
--       o  any other job that was taken: id, how many values follow, and these: the fields of its hash, name and value
-- Codes: -1 no job, -2 no lock, -3 not active, -4 pending children, -6 locked with another token, -9 failed children, 1 no such child
local A = ARGV
local now, wanted, token, worker, kinds, n = A[3], tonumber(A[4]), A[5], A[7], A[8], #A[8]
local count, age, limit, most, per, points, again = -1, 0, 1000, '', '', '0', '0'
if A[9] ~= '' then
  count, age, limit, most, per, points, again = string.match(A[9], '^(%S+) (%S+) (%S+) (%S*) (%S*) (%S+) (%S+)$')
  count, age, limit = tonumber(count), tonumber(age), tonumber(limit)
end
again = again == '1'
local active, events, delayed, limiter = B .. 'active', B .. 'events', B .. 'delayed', B .. 'limiter'
local min, byte = math.min, string.byte
local meta = rc('HMGET', B .. 'meta', 'paused', 'concurrency', 'max', 'opts.maxLenEvents')
if meta[2] then meta[2] = tonumber(meta[2]) end -- text limits nothing
if meta[3] then meta[3] = tonumber(meta[3]) end
local completed, failed, others = 0, 0, 0 -- how many were settled, and how
local refused, r -- places and codes, and how many of both
local first -- score of the delayed job that is due first; false: there is none, nil: not known
-- A job that is taken by a worker with a name has 9 fields, or else 8: any other number means that something has happened to it.
local usual = worker == '' and 8 or 9

-- A single job that can be settled in bulk: the same as below, without what many need.
if n == 1 and kinds == 'c' and A[11] ~= '0' and meta[4] and not again then
  local id, value = A[10], A[12]
  local key = B .. id
  local lock, kin, later = key .. ':lock', nil, false
  if rc('GET', lock) == A[11] and rc('HLEN', key) == usual then
    if count == 0 then
      kin = rc('EXISTS', key .. ':dependencies', key .. ':unsuccessful', delayed, key .. ':logs', key .. ':processed', key .. ':failed')
    else
      kin = rc('EXISTS', key .. ':dependencies', key .. ':unsuccessful', delayed)
    end
    if kin > 0 then later = rc('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2] end
    if kin == (later and 1 or 0) and rc('LPOS', active, id, 'RANK', -1) then
      if count ~= 0 then
        rc('HSET', key, 'returnvalue', value, 'finishedOn', now, 'atm', '1')
        rc('ZADD', B .. 'completed', now, id)
      end
      rc('XADD', events, 'MAXLEN', '~', meta[4], '*', 'event', 'completed', 'jobId', id, 'returnvalue', value, 'prev', 'active')
      if count == 0 then rc('DEL', key) end
      rc('LREM', active, -1, id)
      rc('SREM', B .. 'stalled', id)
      rc('DEL', lock)
      completed = 1
      if count > 0 or age > 0 then cold().retain(B, 'completed', now, count, age, limit, 1) else first = later end
    end
  end
end

if n > completed then
  refused, r = {}, 0
  local kind_of, id_of, token_of, value_of, a = {}, {}, {}, {}, 10
  local alike = true -- all are completed, and kept as the call says
  for low = 1, n, 250 do
    local letters, token, value = {byte(kinds, low, min(low + 249, n))}, token_of[low - 1], value_of[low - 1]
    for j = 1, #letters do
      local i, kind = low + j - 1, letters[j]
      id_of[i], a = A[a], a + 1
      if kind == 101 then -- e
        kind = 99 -- c
      else
        if kind == 116 then kind = 99 else token, a = A[a], a + 1 end -- t
        value, a = A[a], a + 1
        if kind ~= 99 then alike = false end
      end
      kind_of[i], token_of[i], value_of[i] = kind, token, value
    end
  end
  -- The jobs that are settled one by one, which of them are in `active` until then, and where the extras of each begin.
  local single, s, alone, extra, x = {}, 0, {}, {}, a - 6
  local seen = {} -- ids
  local pure = alike and count ~= 0

  local function refuse(i, code)
    refused[r + 1], refused[r + 2] = i, code
    r = r + 2
  end

  -- Which of the jobs are in `active`. Those of one call often are the end of the list, in the order in which they were taken: `exact`.
  -- Else `here` has the ids that are there.
  local tail = rc('LRANGE', active, -n, -1)
  local exact, here = #tail == n, nil
  for i = 1, exact and n or 0 do
    if tail[n + 1 - i] ~= id_of[i] then
      exact = false
      break
    end
  end
  if not exact then
    local missing, m = {}, 0
    here = {}
    for i = 1, #tail do here[tail[i]] = true end
    for i = 1, n do
      if not here[id_of[i]] then
        m = m + 1
        missing[m] = id_of[i]
      end
    end
    if m > 12 then
      local all = rc('LRANGE', active, 0, -1)
      for i = 1, #all do here[all[i]] = true end
    else
      for i = 1, m do
        if rc('LPOS', active, missing[i], 'RANK', -1) then here[missing[i]] = true end
      end
    end
  end
  -- What is done at the end, when each job has its new place: keys that are deleted, ids that leave `active` and the set of those that may
  -- have stalled, locks that are released. So a stop leaves every job in a state, and its lock says that it is to be settled again.
  local gone, leaving, leave, free, locks_left = {}, {}, 0, {}, {}

  local function append(to, from, n)
    local k = #to
    for i = 1, n do to[k + i] = from[i] end
  end

  local function in_steps(cmd, key, list)
    for i = 1, #list, 1000 do
      if key then rc(cmd, key, unpack(list, i, min(i + 999, #list))) else rc(cmd, unpack(list, i, min(i + 999, #list))) end
    end
  end

  -- Takes the jobs that leave out of `active`: off its end, one by one if they are few of many, or by putting another list in its place.
  local function leave_active()
    if leave == #tail then
      local others = false
      for i = 1, exact and 0 or leave do others = others or not leaving[tail[i]] end
      if not others then return rc('LTRIM', active, 0, -leave - 1) end
    end
    local len = rc('LLEN', active)
    if len > 4 * leave or leave < 3 then
      for id in pairs(leaving) do rc('LREM', active, -1, id) end
      return
    end
    local rest, r, all = {}, 0, rc('LRANGE', active, 0, -1)
    for i = 1, #all do
      if not leaving[all[i]] then
        r = r + 1
        rest[r] = all[i]
      end
    end
    if r == 0 then return rc('DEL', active) end
    local other = B .. 'gen:active'
    if rc('RPUSH', other, unpack(rest, 1, min(r, 1000))) > min(r, 1000) then -- one was left by a call that was stopped
      rc('DEL', other)
      rc('RPUSH', other, unpack(rest, 1, min(r, 1000)))
    end
    for i = 1001, r, 1000 do rc('RPUSH', other, unpack(rest, i, min(i + 999, r))) end
    rc('RENAME', other, active)
  end

  -- Tells a parent the results of its children first to last. Returns those that it waited for, or nil. They are taken off what it waits
  -- for when it was released, if that is due: a stop before leaves the parent waiting for them, and they are settled again.
  local function told_parent(parent, keys, values, first, last)
    local pending = rc('SMISMEMBER', parent .. ':dependencies', unpack(keys, first, last))
    local left, done, d = {}, {}, 0
    for j = first, last do
      if pending[j - first + 1] == 1 then
        d = d + 1
        left[d], done[2 * d - 1], done[2 * d] = keys[j], keys[j], values[j]
      end
    end
    if d == 0 then return nil end
    rc('HSET', parent .. ':processed', unpack(done))
    return left
  end

  -- Completes v jobs in bulk, if they are kept; writes their events in any case. `made` has, by id, the attempts of those that made more
  -- than one; `parents` the parents of children, and `links` what they keep of them. A parent is looked at once for children of it that
  -- stand together.
  local function complete(ids, keys, values, v, made, parents, links)
    if count ~= 0 then
      local z = {}
      for i = 1, v do
        z[2 * i - 1], z[2 * i] = now, ids[i]
        rc('HSET', keys[i], 'returnvalue', values[i], 'finishedOn', now, 'atm', made and made[ids[i]] or '1')
      end
      rc('ZADD', B .. 'completed', unpack(z))
    end
    if not meta[4] then
      meta[4] = '10000'
      rc('HSET', B .. 'meta', 'opts.maxLenEvents', meta[4])
    end
    local i = 1
    while i <= v do
      local parent, last, told = parents and parents[i], parents and i or v, nil
      if parent then
        while last < v and parents[last + 1] == parent do last = last + 1 end
        told = told_parent(parent, keys, values, i, last)
      end
      for j = i, last do
        if told and j == last then
          local ready = rc('SCARD', parent .. ':dependencies') == #told
          if ready then
            cold().meta, L.leaving = meta, leave
            L.tell_ready_parent(parent, links[j], tonumber(now))
          end
          rc('SREM', parent .. ':dependencies', unpack(told))
        end
        if j < v then
          rc('XADD', events, '*', 'event', 'completed', 'jobId', ids[j], 'returnvalue', values[j], 'prev', 'active')
        else
          rc('XADD', events, 'MAXLEN', '~', meta[4], '*', 'event', 'completed', 'jobId', ids[j], 'returnvalue', values[j], 'prev', 'active')
        end
      end
      i = last + 1
    end
    completed = completed + v
  end

  -- How many of the m jobs from a place on, up to the first other one, are locked as they should be and either plain or children; and the
  -- parents of the children with what they keep of them, if there are any.
  local function plain_ones(low, m, keys, held)
    local plain, parents, links = 0
    while plain < m and held[plain + 1] == token_of[low + plain] do
      local key = keys[plain + 1]
      local len = rc('HLEN', key)
      if len ~= usual then
        local h = pure and len == usual + 2 and rc('HMGET', key, 'parentKey', 'parent')
        if not h or not h[1] or not h[2] or h[1] == '' then break end
        if not parents then parents, links = {}, {} end
        parents[plain + 1], links[plain + 1] = h[1], h[2]
      end
      plain = plain + 1
    end
    return plain, parents, links
  end

  -- Completes the m jobs from a place on, which are plain ones, or children: the same as below, without what others need. Returns whether
  -- it did: not if one of them is there twice.
  local function settle_plain(low, m, keys, locks, parents, links)
    local ids, values, v, before = {}, {}, 0, low - 1
    if not exact then
      local at = {}
      for j = 1, m do
        local id = id_of[before + j]
        if at[id] then return false end
        at[id] = true
      end
    end
    if exact and m == n then
      ids, values, v = id_of, value_of, n
    end
    for i = v + 1, m do
      local id = id_of[before + i]
      if exact or here[id] then
        v = v + 1
        ids[v], values[v] = id, value_of[before + i]
        if v < i then
          keys[v] = keys[i]
          if parents then parents[v], links[v] = parents[i], links[i] end
        end
      else -- it is not there: it loses its lock, and nothing else is done
        refuse(before + i, -3)
        free[#free + 1] = id
      end
    end
    leave = leave + v
    if v > 0 then complete(ids, keys, values, v, nil, parents, links) end
    if m == n and exact then
      free, locks_left = ids, locks
      if count == 0 then gone = keys end
      return true
    end
    if count == 0 then append(gone, keys, v) end
    for i = 1, v do leaving[ids[i]] = true end
    append(free, ids, v)
    append(locks_left, locks, m)
    return true
  end

  -- Settles in bulk what can be of the jobs in some places, and notes the others in `single`. Lua puts no more than some thousands of
  -- arguments on its stack, so a call that settles many comes here more than once.
  local function settle_bulk(low, high)
    local keys, locks, kin, k = {}, {}, {}, 0
    for i = low, high do
      local key = B .. id_of[i]
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
    local families = pure and not more -- children are completed in bulk: no job of the call may be the parent of another

    local plain = 0
    if alike and not more then
      local parents, links
      plain, parents, links = plain_ones(low, high - low + 1, keys, held)
      if plain > high - low then
        if settle_plain(low, plain, keys, locks, parents, links) then return end
      end
      if parents then plain = 0 end -- what is known of children is asked for again
    end

    -- Those that leave `active`, locks that are released before the jobs get a new place, and what can be done in bulk: the list of keys
    -- closes up over those that fall out.
    local at, first_locks, f = {}, {}, 0
    local ids, values, made, v = {}, {}, {}, 0
    local parents, links = {}, {}
    for i = low, high do
      local j = i - low + 1
      local id, own, kind, key = id_of[i], token_of[i], kind_of[i], keys[j]
      if kind ~= 99 then -- c
        x = x + 6
        extra[i] = x
      end
      local len = j <= plain and usual or rc('HLEN', key)
      if len == 0 then
        refuse(i, -1)
      elseif at[id] then -- it was settled a moment ago
        refuse(i, count == 0 and kind_of[at[id]] == 99 and -1 or own == '0' and -3 or -2)
      elseif seen[id] or kind == 112 -- p
        or more and (kind == 99 or kind == 107) and rc('EXISTS', key .. ':dependencies', key .. ':unsuccessful') > 0 then -- c, k
        s = s + 1
        single[s], alone[i], seen[id] = i, true, true
      elseif own ~= '0' and held[j] ~= own then
        refuse(i, held[j] and -6 or -2)
      elseif not exact and not here[id] then -- it loses its lock, and nothing else is done but to note why it failed
        if kind == 102 or kind == 114 or kind == 100 then cold().note_failure(key, value_of[i], A[x], A[x + 1]) end -- f, r, d
        refuse(i, -3)
        if own ~= '0' then free[#free + 1], locks_left[#locks_left + 1] = id, locks[j] end
      else
        local bulk = kind == 99
        if bulk and len ~= usual then
          local h = rc('HMGET', key, 'parentKey', 'parent', 'deid', 'gen:steps', 'atm')
          local atm = h[5]
          local counts = not atm or #atm < 15 and string.find(atm, '^[1-9]%d*$') -- any other is counted as HINCRBY does, or begun anew
          if h[3] or h[4] or h[1] and not families or not counts then
            bulk = false
          else
            if atm then made[id] = int(atm + 1) end
            if h[1] and h[1] ~= '' then parents[id], links[id] = h[1], h[2] end
          end
        elseif kind == 102 or kind == 114 or kind == 100 then -- f, r, d
          cold().note_failure(key, value_of[i], A[x], A[x + 1])
        end
        if bulk then
          v = v + 1
          ids[v], keys[v], values[v] = id, key, value_of[i]
        else
          s = s + 1
          single[s] = i
        end
        at[id], leaving[id], leave = i, true, leave + 1
        if own ~= '0' then
          free[#free + 1] = id
          -- A job that will run again and is stopped here is found stalled. One that is finished is settled again.
          if kind == 99 or kind == 107 or kind == 102 then -- c, k, f
            locks_left[#locks_left + 1] = locks[j]
          else
            f = f + 1
            first_locks[f] = locks[j]
          end
        end
      end
    end

    if s > 0 and next(parents) then -- others may put jobs in line, where released parents go: children take their turns among them
      local w = 0
      for i = 1, v do
        local id = ids[i]
        if parents[id] then
          s = s + 1
          single[s] = at[id]
        else
          w = w + 1
          ids[w], keys[w], values[w] = id, keys[i], values[i]
        end
      end
      v = w
      table.sort(single)
    end

    if f > 0 then rc('DEL', unpack(first_locks)) end
    if count == 0 then
      append(gone, keys, v)
      if more then
        for i = 1, v do append(gone, {keys[i] .. ':logs', keys[i] .. ':processed', keys[i] .. ':failed'}, 3) end
      end
    end
    if v > 0 then
      local p, k
      if next(parents) then
        p, k = {}, {}
        for i = 1, v do p[i], k[i] = parents[ids[i]], links[ids[i]] end
      end
      complete(ids, keys, values, v, made, p, k)
    end
  end

  if string.find(kinds, 'r', 1, true) then -- jobs that are due stand before a retried one in line
    local paused, blocked = cold().blocked(B)
    cold().promote_due(B, tonumber(now), paused, blocked)
  end
  for low = 1, n, 250 do settle_bulk(low, min(low + 249, n)) end
  if completed > 0 and (count > 0 or age > 0) then cold().retain(B, 'completed', now, count, age, limit, completed) end
  if s > 0 then
    cold().leaving = leave
    local first, back = {}, {}
    for j = 1, s do table.insert(kind_of[single[j]] == 119 and back or first, single[j]) end -- w
    for j = #back, 1, -1 do first[#first + 1] = back[j] end
    for j = 1, s do
      local i = first[j]
      local kind = string.char(kind_of[i])
      local code = cold().settle(B, kind, id_of[i], token_of[i], value_of[i], extra[i], now, alone[i], count, age, limit)
      if code then
        refuse(i, code)
      elseif kind == 'c' or kind == 'k' then
        completed = completed + 1
      elseif kind == 'f' then
        failed = failed + 1
      else
        others = others + 1
      end
    end
  end
  if leave > 0 or free[1] then
    in_steps('DEL', nil, gone)
    if leave > 0 then leave_active() end
    if free[1] then in_steps('SREM', B .. 'stalled', free) end
    in_steps('DEL', nil, locks_left)
    if L then L.leaving = nil end
  end
  if again then r = cold().forgive(B, kind_of, id_of, token_of, value_of, refused, r, extra, now, count, age) end
end
if points ~= '0' then
  points = tonumber(points)
  if completed > 0 then cold().count_finished(B, 'completed', now, points, completed) end
  if failed > 0 then cold().count_finished(B, 'failed', now, points, failed) end
end

local out, o = {nil, nil, nil, nil, nil, nil}, 0 -- with room for one new job
for i = 1, r or 0, 2 do
  out[o + 1], out[o + 2], out[o + 3] = 'r', refused[i], refused[i + 1]
  o = o + 3
end
local taken, limited, due, blocked = 0, 0, 0, false
local want, max = wanted, meta[3] or most ~= '' and tonumber(most)
local locked, lasting = token ~= '0', A[6]

if L and L.back then
  -- A job that went back because of a limit would be the next one taken: where no maximum is set, the count of a limit set by hand is one.
  local used, ttl = tonumber(rc('GET', limiter) or '0'), rc('PTTL', limiter)
  if ttl > 0 and used and used >= (max or 9007199254740991) then limited = ttl end
end
local count_starts -- counts started jobs for the rate limit; the first ones of a window begin it
if max then
  count_starts = function(n)
    local used = redis.pcall('INCRBY', limiter, n)
    if type(used) ~= 'number' and not cold().counted(used) then
      rc('SET', limiter, n)
      used = n
    end
    if used == n then
      local time = tonumber(per ~= '' and per or rc('HGET', B .. 'meta', 'duration') or 0) or 0
      rc('PEXPIRE', limiter, time == time and int(math.floor(min(math.abs(time), 9007199254740991))) or '0')
    end
  end
end

if again and want > 0 and locked then
  local found, unwritten = cold().taken_before(B, token), 0
  for i = 1, #found do
    local key = B .. found[i]
    rc('PEXPIRE', key .. ':lock', lasting)
    if L.note_start(B, found[i], now, worker) then unwritten = unwritten + 1 end
    o = cold().report(out, o, found[i], key)
  end
  taken = #found
  if max and unwritten > 0 then count_starts(taken) end -- it was stopped before it counted them
  if taken > 0 then want = 0 end -- what the first sending left was not to be had
end
if want > 0 then
  local time = tonumber(now)
  if first == nil then first = rc('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2] end
  if first and math.floor(first / 4096) <= time then
    local paused, full = cold().blocked(B)
    cold().promote_due(B, time, paused, full)
    first = rc('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2]
  end
  -- How many jobs does a rate limit leave room for? Nil: any number.
  local room
  if max and limited == 0 then
    room = max - (tonumber(rc('GET', limiter) or '0') or 0)
    if room <= 0 then
      local ttl = rc('PTTL', limiter)
      if ttl > 0 then
        limited = ttl
      elseif ttl == 0 then
        rc('DEL', limiter)
        room = max
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
    want = min(want, meta[2] - rc('LLEN', active))
    blocked = want <= 0
  end
  local lock_like -- a lock that was just set
  local part, name, opts, stamp, pkey, parent -- of the job before, if it is a new one: where its part begins, and what all of that have
  while want > 0 and (not room or room > 0) do
    local ask, short = min(want, 250, room or want), false
    local moved = ask == 1 and rc('RPOPLPUSH', B .. 'wait', active) -- is in `active` already
    local ids = moved and {moved} or ask > 1 and rc('LRANGE', B .. 'wait', -ask, -1) or {}
    local g = #ids
    local w, waited, best = g, moved and 0 or g, nil -- w of them waited without a priority
    for i = 1, math.floor(g / 2) do ids[i], ids[g + 1 - i] = ids[g + 1 - i], ids[i] end -- the next one is at the right end
    if g < ask then
      best = rc('ZRANGE', B .. 'prioritized', 0, ask - g - 1)
      short = #best < ask - g
      for i = 1, #best do ids[g + i] = best[i] end
      g = g + #best
    end
    for i = g, 1, -1 do
      if byte(ids[i]) == 48 and byte(ids[i], 2) == 58 then -- '0:...', the marker of a very old version
        if moved then rc('LREM', active, 1, ids[i]) end
        table.remove(ids, i)
        if i <= w then w = w - 1 end
      end
    end
    local counted = 0
    g = #ids
    if not moved then
      if g > 0 then rc('LPUSH', active, unpack(ids)) end
      local r = waited > 0 and redis.pcall('LTRIM', B .. 'wait', 0, -waited - 1)
      if best and best[1] and not (type(r) == 'table' and r.err) then
        r = redis.pcall('ZREM', B .. 'prioritized', unpack(best))
        if type(r) == 'table' and r.err then g = #best end -- the others have left their list
      end
      if type(r) == 'table' and r.err then -- they stay where they were
        for i = #ids, #ids - g + 1, -1 do redis.pcall('LREM', active, 1, ids[i]) end
        error(r.err, 0)
      end
      if short then rc('DEL', B .. 'pc') end
    end
    local keys, lens, k, plain = {}, {}, 0, w
    for i = 1, g do
      local id = ids[i]
      local key = B .. id
      local len = redis.pcall('HLEN', key)
      if len == 6 or len ~= 0 and (type(len) == 'number' or not cold().is_foreign(len)) then
        k = k + 1
        ids[k], keys[k], lens[k] = id, key, len
      else -- an id without a job, or whose key is another program's
        rc('LREM', active, 1, id)
        if i <= plain then w = w - 1 end
      end
    end
    g = k
    for i = 1, g do
      local id, key, len, h = ids[i], keys[i], lens[i], nil
      if locked then
        local lock = key .. ':lock'
        local copied = lock_like and redis.pcall('COPY', lock_like, lock) -- costs half of SET, but leaves one that is there alone
        if copied ~= 1 then
          rc('SET', lock, token, 'PX', lasting)
          if lock_like == nil then lock_like = lock elseif type(copied) == 'table' then lock_like = false end -- we may not copy
        end
      end
      rc('XADD', events, '*', 'event', 'active', 'jobId', id, 'prev', 'waiting')
      if i > w then
        h = false
      elseif len == 6 then -- what every job has: these, and delay and priority, which mean nothing for one that waits
        h = rc('HMGET', key, 'name', 'data', 'opts', 'timestamp')
      elseif len == 8 then
        h = rc('HMGET', key, 'name', 'data', 'opts', 'timestamp', 'parentKey', 'parent')
        if not (h[5] and h[6]) then h = false end
      end
      if h and h[1] and h[2] and h[3] and h[4] then
        if worker == '' then
          rc('HSET', key, 'processedOn', now, 'ats', '1')
        else
          rc('HSET', key, 'processedOn', now, 'ats', '1', 'pb', worker)
        end
        local up, link = nil, nil
        if len == 8 then up, link = h[5], h[6] end
        if not part or h[1] ~= name or h[3] ~= opts or h[4] ~= stamp or up ~= pkey or link ~= parent then
          name, opts, stamp, pkey, parent = h[1], h[3], h[4], up, link
          part = o + 1
          out[part], out[o + 2], out[o + 3], out[o + 4], out[o + 5], out[o + 6] = 0, name, opts, stamp, up, link
          o = o + (up and 6 or 4)
        end
        out[part] = out[part] + (up and -1 or 1)
        out[o + 1], out[o + 2] = id, h[2]
        o, counted = o + 2, counted + 1
      else
        part = nil
        rc('HSET', key, 'processedOn', now)
        if worker ~= '' then rc('HSET', key, 'pb', worker) end
        local ats = redis.pcall('HINCRBY', key, 'ats', 1) -- as count_up
        if type(ats) ~= 'number' and not cold().counted(ats) then rc('HSET', key, 'ats', '1') end
        o = cold().report(out, o, id, key)
        if not max or rc('HEXISTS', key, 'defa') == 0 then counted = counted + 1 end -- one that is only to be failed uses no limit
      end
    end
    if max and counted > 0 then
      count_starts(counted)
      if room then room = room - counted end
    end
    taken, want = taken + g, want - g
    if short then break end
  end
  if taken > 0 then
    if not L or L.woken ~= B then rc('ZADD', B .. 'marker', '0', '0') end
    if want > 0 and room and room <= 0 then limited = math.max(0, rc('PTTL', limiter)) end
  elseif limited == 0 and not blocked and first then
    due = math.floor(first / 4096)
  end
end

if completed + failed + others > 0 then
  if taken == 0 then
    if rc('EXISTS', B .. 'wait', B .. 'prioritized') == 0 then
      if completed + failed > 0 and (wanted == 0 or limited == 0 and not blocked and due == 0) and rc('EXISTS', active) == 0 then
        rc('XADD', events, '*', 'event', 'drained')
      end
    end
    -- Whoever takes nothing, or may not because of a limit that others do not have, leaves the slot to them.
    if (wanted == 0 or limited > 0) and meta[2] and not meta[1] and rc('LLEN', active) < meta[2] then cold().wake_for_slot(B) end
  end
  if L and L.delayed then L.wake_delayed(B) end
end
if limited > 0 then
  out[o + 1], out[o + 2] = 'l', limited
  o = o + 2
end
if due > 0 then out[o + 1], out[o + 2] = 'd', int(due) end
return out
