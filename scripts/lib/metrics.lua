-- needs: counter foreign
-- Metrics: how many jobs were finished, in all and in each minute.

-- Counts n jobs that finished at `now` (ms), as completed or as failed; keeps the counts of the last `points` minutes, the newest at the left.
local function count_finished(b, state, now, points, n)
  local key = b .. 'metrics:' .. state
  local before = L.count_up(key, 'count', n) - n
  local h = rc('HMGET', key, 'prevTS', 'prevCount')
  local last = L.number(h[1])
  if not last then
    rc('HSET', key, 'prevTS', now, 'prevCount', '0')
    return
  end
  local minutes = math.min(math.floor(now / 60000) - math.floor(last / 60000), points)
  if minutes <= 0 then return end
  local data = key .. ':data'
  rc('LPUSH', data, int(before - (L.number(h[2]) or 0)))
  local empty = {}
  for i = 1, minutes - 1 do empty[i] = '0' end
  for i = 1, minutes - 1, 1000 do rc('LPUSH', data, unpack(empty, i, math.min(i + 999, minutes - 1))) end
  rc('LTRIM', data, 0, points - 1)
  rc('HSET', key, 'prevCount', int(before), 'prevTS', now)
end

-- No job waits for a count: where a key of another program is in its place, nothing is counted.
function L.count_finished(...) L.passing(count_finished, ...) end
