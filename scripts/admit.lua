-- lib: foreign
-- Gives each of some taken jobs its place within the rate limit of its group.
-- KEYS  any key of the queue
-- ARGV  base, mode, now (ms), max, window (ms), then for each job: id, group
-- Reply for each job: how many ms it is to wait; 0: it may run now
--
-- A group's windows follow each other from its first job on; its jobs are numbered, and each `max` of them get the
-- next window. A job that has to wait keeps its time in its own hash, so that it is not numbered again when it is
-- taken next. Keys and field are ours alone: peers ignore both.
local now, max, window = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])

-- When the next job of a group may run.
local function place(key)
  local g = rc('HMGET', key, 'start', 'count')
  local start, count = L.number(g[1]) or 0, L.number(g[2]) or 0
  local at = start + math.floor(count / max) * window
  -- A time that no limit leads to in years was not written by a worker.
  if count <= 0 or now >= start + math.ceil(count / max) * window or at - now > 1e12 then start, count, at = now, 0, now end
  rc('HSET', key, 'start', int(start), 'count', int(count + 1))
  rc('PEXPIRE', key, int(at + window - now))
  return at
end

local waits = {}
for i = 6, #ARGV, 2 do
  local job = B .. ARGV[i]
  local wait = 0
  if L.is_job(job) then
    local at = L.number(rc('HGET', job, 'gen:slot'))
    if not at or at - now > 1e12 then at = L.passing(place, B .. 'gen:group:' .. ARGV[i + 1]) or now end
    wait = math.max(at - now, 0)
    if wait > 0 then rc('HSET', job, 'gen:slot', int(at)) else rc('HDEL', job, 'gen:slot') end
  end
  waits[#waits + 1] = int(wait)
end
return waits
