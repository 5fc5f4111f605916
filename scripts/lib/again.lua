-- needs: foreign counter
-- A request that is sent again because its answer was lost. A call happens as a whole or not at all, and the token of a taken job is
-- known to the one that took it alone. So what still has its lock was not settled, and what is locked with the call's own token was taken.

-- Whether a job that is not locked with its token any more was settled by the first sending. Of a finished one the time says so (or,
-- where it is not kept, that it is gone); of a retried one what was written about the attempt, with which later attempts may only have
-- gone on. The others have nothing to be told by, and nothing to lose: the job runs again, whoever took it out of `active`.
local function settled_before(b, kind, id, reason, x, now, count, age)
  local key = b .. id
  if kind == 'c' or kind == 'k' or kind == 'f' then
    if kind ~= 'c' then count, age = tonumber(ARGV[x + 3]), tonumber(ARGV[x + 4]) end
    local at = rc('ZSCORE', b .. (kind == 'f' and 'failed' or 'completed'), id)
    return at and tonumber(at) == tonumber(now) or (count >= 0 or age > 0) and rc('EXISTS', key) == 0
  end
  if rc('EXISTS', key) == 0 then return false end
  if kind ~= 'r' and kind ~= 'd' then return true end
  local h, stack = rc('HMGET', key, 'failedReason', 'stacktrace'), ARGV[x]
  if stack == '' then return h[1] == reason end
  return h[2] and string.sub(h[2], 1, #stack - 1) == string.sub(stack, 1, -2)
end

-- Drops from the refused jobs, of which the list has place and code in r elements, those that the first sending settled. Returns how
-- many elements are left.
function L.forgive(b, kinds, ids, tokens, values, refused, r, extra, now, count, age)
  local left = 0
  for j = 1, r, 2 do
    local i, code = refused[j], refused[j + 1]
    local gone = code == -1 or code == -2 or code == -6 or code == -3
    if not gone or not settled_before(b, string.char(kinds[i]), ids[i], values[i], extra[i], now, count, age) then
      refused[left + 1], refused[left + 2] = i, code
      left = left + 2
    end
  end
  return left
end

-- The jobs that are locked with a token, the first one that was taken first.
function L.taken_before(b, token)
  local found, all = {}, rc('LRANGE', b .. 'active', 0, -1)
  for low = 1, #all, 500 do
    local locks = {}
    for i = low, math.min(low + 499, #all) do locks[#locks + 1] = b .. all[i] .. ':lock' end
    local held = rc('MGET', unpack(locks))
    for i = 1, #locks do
      if held[i] == token then table.insert(found, 1, all[low + i - 1]) end
    end
  end
  return found
end

-- Writes of a job that the first sending took what it did not write because it was stopped: that the job was started, at the time of the
-- request. Returns whether it had to. Without this a child would look like a job that has no parent.
function L.note_start(b, id, now, worker)
  local key = b .. id
  local h = L.fields(key, 'processedOn')
  if not h or h[1] == now then return false end
  rc('HSET', key, 'processedOn', now)
  if worker ~= '' then rc('HSET', key, 'pb', worker) end
  L.count_up(key, 'ats')
  return true
end
