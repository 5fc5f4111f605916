-- needs: remove childdone dedupdone events bulk counter
-- Finished jobs: where they go, what is kept of them, who is told.

-- Cuts the event stream to about what the queue keeps, once a call.
function L.trim_events(b)
  if L.trimmed then return end
  L.trimmed = true
  rc('XTRIM', b .. 'events', 'MAXLEN', '~', L.max_events(b))
end

-- Removes the jobs of a list, as remove_job would one by one. Their deduplication ids had their time.
local function drop(b, ids, now)
  for low = 1, #ids, 100 do
    local keys, k = {}, 0
    for i = low, math.min(low + 99, #ids) do
      local key = b .. ids[i]
      local pkey = redis.pcall('HGET', key, 'parentKey')
      if type(pkey) ~= 'table' or not L.is_foreign(pkey) then
        if pkey then L.passing(L.detach, b, key, pkey, false, now) end
        keys[k + 1], keys[k + 2], keys[k + 3] = key, key .. ':logs', key .. ':dependencies'
        keys[k + 4], keys[k + 5], keys[k + 6] = key .. ':processed', key .. ':failed', key .. ':unsuccessful'
        k = k + 6
      end
    end
    if k > 0 then rc('DEL', unpack(keys)) end
  end
end

-- Keeps, of the jobs in `state`, those that are younger than `age` (ms; 0: any) and the newest `count` (below 1: any number), after
-- n jobs of the same policy came to it. Age drops at most `limit` jobs for each of them and 1000 in all, the newest of the old ones first. Count drops at
-- most 100 for each and 1000 in all, the oldest first: more are there only after the count was made smaller, and later calls drop them.
function L.retain(b, state, now, count, age, limit, n)
  local set = b .. state
  if age > 0 then
    local oldest, most = int(now - age), math.min(limit * n, 1000)
    local ids = rc('ZREVRANGEBYSCORE', set, oldest, '-inf', 'LIMIT', 0, most)
    drop(b, ids, now)
    if #ids < most then
      if #ids > 0 then rc('ZREMRANGEBYSCORE', set, '-inf', oldest) end
    else
      for i = 1, #ids, 1000 do rc('ZREM', set, unpack(ids, i, math.min(i + 999, #ids))) end
    end
  end
  if count > 0 then
    local over = rc('ZCARD', set) - count
    if over > 0 then
      local most = math.min(over, 100 * n, 1000)
      drop(b, rc('ZRANGE', set, 0, most - 1), now)
      rc('ZREMRANGEBYRANK', set, 0, most - 1)
    end
  end
end

-- Forgets the results of a job's steps: when a completed one is run again, it begins anew.
local function drop_steps(key)
  local steps = {}
  for _, field in ipairs(rc('HKEYS', key)) do
    if string.sub(field, 1, 8) == 'gen:step' then steps[#steps + 1] = field end
  end
  L.bulk('HDEL', key, steps)
end

-- Finishes a job that is about to leave `active`. State is 'completed' or 'failed', value its result or its reason; a failed one that made
-- `attempts` attempts is reported as exhausted. Count 0 removes it at once.
function L.finish(b, id, state, now, value, attempts, count, age, limit)
  local key, failed = b .. id, state == 'failed'
  L.trim_events(b)
  local h = rc('HMGET', key, 'parentKey', 'parent', 'deid', 'gen:steps', 'finishedOn', 'atm')
  if h[3] then L.finish_dedup(b, id, h[3], now) end
  if h[1] and h[1] ~= '' then (failed and L.child_failed or L.child_completed)(key, h[1], h[2], value, now) end
  -- A call that was stopped and is made again counts the attempt once.
  local made = h[5] == now and tonumber(h[6]) or L.count_up(key, 'atm')
  if count == 0 then
    L.remove_job(b, id, false, now, true)
  else
    rc('HSET', key, failed and 'failedReason' or 'returnvalue', value, 'finishedOn', now)
    rc('ZADD', b .. state, now, id)
    if failed then rc('HDEL', key, 'defa') elseif h[4] then drop_steps(key) end
    L.retain(b, state, now, count, age, limit, 1)
  end
  L.emit(b, state, 'jobId', id, failed and 'failedReason' or 'returnvalue', value, 'prev', 'active')
  if failed and made >= attempts then L.emit(b, 'retries-exhausted', 'jobId', id, 'attemptsMade', int(made)) end
end

-- Tells those who wait for a finished job how it ended, if they do not know.
function L.conclude(b, id, state, now)
  local key, failed = b .. id, state == 'failed'
  local h = rc('HMGET', key, 'parentKey', 'parent', 'deid', failed and 'failedReason' or 'returnvalue')
  if h[3] then L.finish_dedup(b, id, h[3], now) end
  if h[1] and h[1] ~= '' then (failed and L.child_failed or L.child_completed)(key, h[1], h[2], h[4] or 'null', now) end
end
