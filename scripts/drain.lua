-- lib: lists remove scheduled
-- Removes waiting and prioritized jobs, and delayed ones if asked, but not the ones that schedules wait for.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 '1': delayed jobs too, 4 how many jobs at most, 5 now (ms).
-- Reply: 1 when there may be more to remove, else 0.
local room, now = tonumber(ARGV[4]), tonumber(ARGV[5])
-- So many entries are looked at that, if there are as many jobs to remove as there is room for, all of them are seen.
local spared = rc('ZCARD', B .. 'repeat')

-- Removes the jobs named, and returns those that stay.
local function remove_all(ids)
  local gone, kept = {}, {}
  for _, id in ipairs(ids) do
    local to = L.awaited(B, id) and kept or gone
    to[#to + 1] = id
  end
  for _, id in ipairs(gone) do L.remove_job(B, id, true, now) end
  room = room - #gone
  return gone, kept
end

local function drain_list(key)
  local ids = rc('LRANGE', key, 0, room + spared - 1)
  local _, kept = remove_all(ids)
  local stay = {}
  for _, id in ipairs(kept) do stay[id] = true end
  L.cut_list(key, 0, #ids - 1, ids, stay)
end

local function drain_set(key)
  local gone = remove_all(rc('ZRANGE', key, 0, room + spared - 1))
  L.bulk('ZREM', key, gone)
end

drain_list(B .. 'wait')
if room > 0 then drain_list(B .. 'paused') end
if room > 0 and ARGV[3] == '1' then drain_set(B .. 'delayed') end
if room > 0 then drain_set(B .. 'prioritized') end
return room > 0 and 0 or 1
