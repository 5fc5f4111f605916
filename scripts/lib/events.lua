-- The event stream of a queue.

-- How many events the queue keeps; a queue that does not say so yet gets the default.
function L.max_events(b)
  local n = rc('HGET', b .. 'meta', 'opts.maxLenEvents')
  if not n then
    n = '10000'
    rc('HSET', b .. 'meta', 'opts.maxLenEvents', n)
  end
  return n
end

function L.emit(b, event, ...)
  rc('XADD', b .. 'events', '*', 'event', event, ...)
end

-- Emits an event and cuts the stream to about what the queue keeps.
function L.emit_capped(b, event, ...)
  rc('XADD', b .. 'events', 'MAXLEN', '~', L.max_events(b), '*', 'event', event, ...)
end
