-- needs: waiting delayed marker events move foreign
-- What becomes of a deduplication id when the job that holds it is finished.

-- A number of the options, as text.
local function text(n)
  n = L.number(n) or 0
  return n == math.floor(n) and int(n) or tostring(n)
end

-- Stores the job that was kept to follow the holder, from the fields of `dn:<deid>`.
local function start_next(b, deid, kept, now)
  local counter = rc('INCR', b .. 'id')
  local id = kept.jid or int(counter)
  local key = b .. id
  -- An id that its producer chose may have been taken since: that job stays as it is.
  local there = L.fields(key, 'deid')
  if not there or rc('EXISTS', key) == 1 and (there[1] ~= deid or L.placed(b, id)) then return L.emit_capped(b, 'duplicated', 'jobId', id) end
  local ok, opts = pcall(cjson.decode, kept.opts or '')
  if not ok or type(opts) ~= 'table' then opts = {} end
  local de = type(opts.de) == 'table' and opts.de or {}
  local ttl = math.min(L.number(de.ttl) or 0, 9007199254740991)
  if ttl > 0 and not de.keepLastIfActive then rc('SET', b .. 'de:' .. deid, id, 'PX', int(ttl)) else rc('SET', b .. 'de:' .. deid, id) end
  local delay = L.number(opts.delay) or 0
  local fields = {
    'name', kept.name or '', 'data', kept.data or '', 'opts', kept.opts or '{}', 'timestamp', now,
    'delay', text(opts.delay), 'priority', text(opts.priority),
  }
  local function field(name, value) fields[#fields + 1], fields[#fields + 2] = name, value end
  if type(de.id) == 'string' or type(de.id) == 'number' then field('deid', tostring(de.id)) end
  if kept.pk then
    field('parentKey', kept.pk)
    field('parent', kept.pd or '')
  end
  if kept.rjk then field('rjk', kept.rjk) end
  L.guarded(function()
    rc('HSET', key, unpack(fields))
    L.emit(b, 'added', 'jobId', id, 'name', kept.name or '')
    if delay > 0 then
      local due = math.floor(now + delay)
      L.add_delayed(b, id, due)
      L.emit_capped(b, 'delayed', 'jobId', id, 'delay', int(due))
      L.wake_delayed(b)
    else
      local paused, blocked = L.blocked(b)
      L.add_waiting(b, id, opts.priority, opts.lifo == true, paused, blocked)
      L.emit_capped(b, 'waiting', 'jobId', id)
    end
    if kept.pdk then L.passing(rc, 'SADD', kept.pdk, key) end
  end, function()
    L.unplace(b, id)
    redis.pcall('DEL', key)
  end)
end

-- Frees an id that has no time of its own, and starts the job that was kept to follow this one.
function L.finish_dedup(b, id, deid, now)
  local holder, next_key = b .. 'de:' .. deid, b .. 'dn:' .. deid
  local ttl = rc('PTTL', holder)
  if ttl == 0 or ttl == -1 and L.passing(rc, 'GET', holder) == id then rc('DEL', holder) end
  local h = L.passing(rc, 'HGETALL', next_key) or {}
  if #h == 0 then return end
  local kept = {}
  for i = 1, #h, 2 do kept[h[i]] = h[i + 1] end
  start_next(b, deid, kept, now)
  rc('DEL', next_key)
end
