-- The writes of a job's life that no implementation on this data can leave out, in their cheapest form: nothing is checked, and the
-- jobs that are settled are taken to be the tail of `active`.
-- ARGV: base, now (ms), token, time of locks (ms), how many to take, ids of completed jobs. Reply: id, name, data and options of each job.
local c, b, now, token, ms, n = redis.call, ARGV[1], ARGV[2], ARGV[3], ARGV[4], #ARGV - 5
local active, events = b .. 'active', b .. 'events'
if n > 0 then
  local locks, z = {}, {}
  for i = 1, n do
    local id = ARGV[5 + i]
    local key = b .. id
    locks[i] = key .. ':lock'
    z[2 * i - 1], z[2 * i] = now, id
    c('HSET', key, 'returnvalue', 'null', 'finishedOn', now, 'atm', '1')
    if i < n then
      c('XADD', events, '*', 'event', 'completed', 'jobId', id, 'returnvalue', 'null', 'prev', 'active')
    else -- once a call is enough to keep the stream short
      c('XADD', events, 'MAXLEN', '~', '10000', '*', 'event', 'completed', 'jobId', id, 'returnvalue', 'null', 'prev', 'active')
    end
  end
  c('RPOP', active, n)
  c('DEL', unpack(locks))
  c('ZADD', b .. 'completed', unpack(z))
end
local ids = c('RPOP', b .. 'wait', ARGV[5])
if not ids then return {} end
c('LPUSH', active, unpack(ids))
local out, o, first = {}, 0, nil
for i = 1, #ids do
  local id = ids[i]
  local key = b .. id
  local lock = key .. ':lock'
  if i == 1 then
    c('SET', lock, token, 'PX', ms)
    first = lock
  else
    c('COPY', first, lock)
  end
  c('XADD', events, '*', 'event', 'active', 'jobId', id, 'prev', 'waiting')
  c('HSET', key, 'processedOn', now, 'ats', '1')
  local h = c('HMGET', key, 'name', 'data', 'opts')
  out[o + 1], out[o + 2], out[o + 3], out[o + 4] = id, h[1], h[2], h[3]
  o = o + 4
end
return out
