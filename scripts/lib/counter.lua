-- Counters of a job.

-- Counts a field of a job up. One that is no number is begun anew: an error would end the script half-way, and the job
-- would be in no state.
function L.count_up(key, field)
  local n = redis.pcall('HINCRBY', key, field, 1)
  if type(n) == 'number' then return n end
  if not string.find(n.err, 'integer', 1, true) and not string.find(n.err, 'overflow', 1, true) then error(n.err, 0) end
  rc('HSET', key, field, '1')
  return 1
end
