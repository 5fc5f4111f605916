-- The writes of adding jobs that no implementation on this data can leave out. ARGV: base, time (ms), payloads.
local c, b, time, n = redis.call, ARGV[1], ARGV[2], #ARGV - 2
local events, ids = b .. 'events', {}
local last = c('INCRBY', b .. 'id', n)
for i = 1, n do
  local id = string.format('%.0f', last - n + i)
  ids[i] = id
  c('HSET', b .. id, 'name', 'job', 'data', ARGV[2 + i], 'opts', '{"attempts":0}', 'timestamp', time, 'delay', '0', 'priority', '0')
  c('XADD', events, '*', 'event', 'added', 'jobId', id, 'name', 'job')
  c('XADD', events, 'MAXLEN', '~', '10000', '*', 'event', 'waiting', 'jobId', id)
end
c('LPUSH', b .. 'wait', unpack(ids))
c('ZADD', b .. 'marker', '0', '0')
return ids
