-- lib: remove bulk
-- Removes a paused queue, a number of jobs and schedules at a time.
-- KEYS: 1 any key of the queue.
-- ARGV: 1 base, 2 mode, 3 '1': active jobs too, 4 how many jobs at most, 5 '1': what is left of an empty queue too, 6 now (ms).
-- Reply: 1 to be called again, 0 when no job is left. Codes: -1 not paused, -2 has active jobs.
local force, room, now = ARGV[3] == '1', tonumber(ARGV[4]), tonumber(ARGV[6])
if rc('HEXISTS', B .. 'meta', 'paused') == 0 then return -1 end
if not force and rc('LLEN', B .. 'active') > 0 then return -2 end

local function remove_all(ids)
  for _, id in ipairs(ids) do
    L.remove_job(B, id, true, now)
    rc('DEL', B .. id .. ':lock')
  end
  room = room - #ids
end

local function empty_list(name)
  if room <= 0 then return end
  local key = B .. name
  local ids = rc('LRANGE', key, 0, room - 1)
  remove_all(ids)
  if #ids > 0 then rc('LTRIM', key, #ids, -1) end
end

-- Removing one child may remove a parent that stands further on in the same set: the ids are read before, and taken out after.
local function empty_set(name)
  if room <= 0 then return end
  local key = B .. name
  local ids = rc('ZRANGE', key, 0, room - 1)
  remove_all(ids)
  L.bulk('ZREM', key, ids)
end

local function empty_schedulers()
  if room <= 0 then return end
  local sids = rc('ZRANGE', B .. 'repeat', 0, room - 1)
  for _, sid in ipairs(sids) do rc('DEL', B .. 'repeat:' .. sid) end
  L.bulk('ZREM', B .. 'repeat', sids)
  room = room - #sids
end

empty_list('active')
empty_set('delayed')
empty_schedulers()
empty_set('completed')
empty_list('wait')
empty_list('paused')
empty_set('prioritized')
empty_set('failed')
empty_set('waiting-children')
if room <= 0 then return 1 end
if ARGV[5] == '1' then
  for _, name in ipairs({
    'events', 'delay', 'priority', 'stalled-check', 'stalled', 'id', 'pc', 'marker', 'limiter', 'meta',
    'metrics:completed', 'metrics:completed:data', 'metrics:failed', 'metrics:failed:data',
  }) do
    rc('DEL', B .. name)
  end
end
return 0
