-- needs: finish requeue events
-- What became of one job, as a request to settle says it.

-- Writes why an attempt failed. An empty stack or context is not written, nor is a reason without a stack that is empty itself.
function L.note_failure(key, reason, stack, context)
  if stack ~= '' then
    rc('HSET', key, 'failedReason', reason, 'stacktrace', stack)
  elseif reason ~= '' then
    rc('HSET', key, 'failedReason', reason)
  end
  if context ~= '' then rc('HSET', key, 'tm', context) end
end

-- Whether children forbid the outcome: a code, or nil. `child` is the one that a job waits for, or empty: any.
local function forbidden(kind, key, child)
  local pending, lost = key .. ':dependencies', key .. ':unsuccessful'
  if kind == 'p' then
    if rc('ZCARD', lost) > 0 then return -9 end
    if child ~= '' and rc('SISMEMBER', pending, child) == 0 or child == '' and rc('SCARD', pending) == 0 then return 1 end
  elseif kind == 'c' or kind == 'k' then
    if rc('SCARD', pending) > 0 then return -4 end
    if rc('ZCARD', lost) > 0 then return -9 end
  end
end

-- Whether the token is not the one that the job is locked with, as a code; token '0' needs no lock.
local function not_ours(b, id, token)
  if token == '0' then return end
  local held = rc('GET', b .. id .. ':lock')
  if not held then return -2 end
  if held ~= token then return -6 end
end

local function unlock(b, id, token)
  if token ~= '0' then rc('DEL', b .. id .. ':lock') end
end

local finishes = { c = true, k = true, f = true }

-- Settles a job. ARGV[x] and the five after it are stack, telemetry context, number, and count, age and limit of what is kept, where
-- the kind has these. Alone: the job is still in `active` and everything is yet to be checked. Returns why it was refused, or nil.
function L.settle(b, kind, id, token, value, x, now, alone, count, age, limit)
  local key = b .. id
  if alone then
    if rc('EXISTS', key) == 0 then return -1 end
    local code = forbidden(kind, key, value) or not_ours(b, id, token)
    if code then return code end
    if kind == 'f' or kind == 'r' or kind == 'd' then L.note_failure(key, value, ARGV[x], ARGV[x + 1]) end
    if not rc('LPOS', b .. 'active', id, 'RANK', -1) then
      unlock(b, id, token)
      rc('SREM', b .. 'stalled', id)
      return -3
    end
    -- A job that will run again and is stopped from here on is found stalled. One that is finished is settled again.
    if not finishes[kind] then unlock(b, id, token) end
    L.leaving = (L.leaving or 0) + 1
  end
  -- Without a lock only its place tells that a call which was stopped has moved it already.
  local again = token == '0' and not finishes[kind] and L.placed(b, id)
  now = tonumber(now)
  local time, number = int(now), x and tonumber(ARGV[x + 2])
  if kind == 'k' or kind == 'f' then count, age, limit = tonumber(ARGV[x + 3]), tonumber(ARGV[x + 4]), tonumber(ARGV[x + 5]) end
  if again then
    L.back = L.back or kind == 'w'
  elseif kind == 'c' or kind == 'k' then
    L.finish(b, id, 'completed', time, value, 0, count, age, limit)
  elseif kind == 'f' then
    L.finish(b, id, 'failed', time, value, number, count, age, limit)
  elseif kind == 'r' then
    L.retry_now(b, id, number == 1)
  elseif kind == 'd' or kind == 'u' then
    L.retry_later(b, id, now, number, kind == 'd')
    L.delayed = true
  elseif kind == 'w' then
    L.back_to_wait(b, id)
    if number == 1 then rc('HINCRBY', key, 'ats', -1) end -- as if it had not been taken
    L.back = true
  elseif kind == 'p' then
    rc('ZADD', b .. 'waiting-children', time, id)
    L.emit(b, 'waiting-children', 'jobId', id, 'prev', 'active')
  end
  if alone then
    L.leaving = L.leaving - 1
    rc('LREM', b .. 'active', -1, id)
    if token ~= '0' then rc('SREM', b .. 'stalled', id) end
    if finishes[kind] then unlock(b, id, token) end
  end
end
