-- Counters of a job.

-- The answer to a command that counts. One that failed because there was no number is nil; any other error goes on.
function L.counted(n)
  if type(n) == 'number' then return n end
  if not string.find(n.err, 'integer', 1, true) and not string.find(n.err, 'overflow', 1, true) then error(n.err, 0) end
end

-- Counts a field up, by one or by n. What is no number is begun anew: an error would end the script half-way.
function L.count_up(key, field, n)
  n = n or 1
  local now = L.counted(redis.pcall('HINCRBY', key, field, n))
  if now then return now end
  rc('HSET', key, field, int(n))
  return n
end
