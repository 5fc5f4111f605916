-- The writes of adding jobs that no implementation on this data can leave out. ARGV: base, time (ms), payloads.
-- Returns the number of the last job. '%d' is enough for the numbers that a benchmark reaches.
local c, b, time, n, format = redis.call, ARGV[1], ARGV[2], #ARGV - 2, string.format
local argv, events, ids = ARGV, b .. 'events', {}
local last = c('INCRBY', b .. 'id', n)
local before = last - n
for i = 1, n do
  local id = format('%d', before + i)
  ids[i] = id
  c('HSET', b .. id, 'name', 'job', 'data', argv[2 + i], 'opts', '{"attempts":0}', 'timestamp', time, 'delay', '0', 'priority', '0')
  c('XADD', events, '*', 'event', 'added', 'jobId', id, 'name', 'job')
  if i < n then
    c('XADD', events, '*', 'event', 'waiting', 'jobId', id)
  else -- once a call is enough to keep the stream short
    c('XADD', events, 'MAXLEN', '~', '10000', '*', 'event', 'waiting', 'jobId', id)
  end
end
c('LPUSH', b .. 'wait', unpack(ids))
c('ZADD', b .. 'marker', '0', '0')
return last
