-- needs: events delayed remove foreign
-- Deduplication when a job is added. `de:<dedup id>` names the job that holds the id, `dn:<dedup id>` is the job that is
-- added when the holder is done. A table `d` describes what the new job asks for: `id`, `key` (de:), `next` (dn:), `ttl`
-- (ms, 0: none), and the switches `extend`, `replace`, `keep_last`, `reschedule`. A table `job` is the new job: `id`,
-- `name`, `data`, `opts`, `now`, `delay`, `old` (jobs that are replaced), and `pkey`, `parent`, `rjk` where it has them.

local function hold(d, id)
  if d.keep_last or d.ttl == 0 then
    rc('SET', d.key, id)
  else
    rc('SET', d.key, id, 'PX', int(d.ttl))
  end
end

-- Programs of 5.x listen for the older event too.
local function emit_hit(b, d, kept, dropped)
  if MODE == '5' then L.emit_capped(b, 'debounced', 'jobId', kept, 'debounceId', d.id) end
  L.emit_capped(b, 'deduplicated', 'jobId', kept, 'deduplicationId', d.id, 'deduplicatedJobId', dropped)
end

-- Is the job that holds the id the one that took it? When that one is gone, another one may have got its own id.
local function owns(b, d, cur)
  local h = L.fields(b .. cur, 'deid')
  return h and h[1] == d.id
end

-- A key that never ends and names a job that is gone would refuse adds for ever: the new job takes it over.
local function take_over(b, d, job, cur)
  if rc('PTTL', d.key) ~= -1 or owns(b, d, cur) then return false end
  rc('DEL', d.key, d.next)
  hold(d, job.id)
  return true
end

-- Keeps the job to be added when the holder, which is active, is done.
local function keep_next(b, d, job, cur)
  if not d.keep_last or not rc('LPOS', b .. 'active', cur) or not owns(b, d, cur) then return false end
  rc('DEL', d.next)
  rc('HSET', d.next, 'name', job.name, 'data', job.data, 'opts', job.opts, 'jid', job.id)
  if job.pkey then rc('HSET', d.next, 'pk', job.pkey, 'pd', job.parent, 'pdk', job.pkey .. ':dependencies') end
  if job.rjk then rc('HSET', d.next, 'rjk', job.rjk) end
  rc('PERSIST', d.key)
  emit_hit(b, d, cur, job.id)
  return true
end

-- Moves a delayed holder to the new job's delay.
local function reschedule(b, d, job, cur)
  if not d.reschedule or not rc('ZSCORE', b .. 'delayed', cur) or not owns(b, d, cur) then return end
  local due = job.now + job.delay
  rc('HSET', b .. cur, 'delay', int(job.delay))
  L.add_delayed(b, cur, due)
  L.emit_capped(b, 'delayed', 'jobId', cur, 'delay', int(due))
  L.wake_delayed(b)
end

-- The new job takes the place of a holder that is still delayed.
local function replace(b, d, job)
  local cur = rc('GET', d.key)
  if not cur then return hold(d, job.id) end
  local score = rc('ZSCORE', b .. 'delayed', cur)
  if not score or not owns(b, d, cur) then
    if take_over(b, d, job, cur) then return nil end
    keep_next(b, d, job, cur)
    return cur
  end
  local key = b .. cur
  -- A holder may have got a parent since: it must not wait for a job that is gone.
  L.passing(L.detach, b, key, rc('HGET', key, 'parentKey'), false, job.now)
  job.old[cur] = score -- it is deleted when the new one is stored
  rc('ZREM', b .. 'delayed', cur)
  L.emit(b, 'removed', 'jobId', cur, 'prev', 'delayed')
  emit_hit(b, d, job.id, cur)
  rc('DEL', d.next)
  if d.ttl > 0 and not d.extend and not d.keep_last then
    rc('SET', d.key, job.id, 'KEEPTTL')
  else
    hold(d, job.id)
  end
end

-- The id of the job that the new one yields to; nil: the new one holds the id now, and is to be added.
function L.dedup(b, d, job)
  if d.replace then return replace(b, d, job) end
  local extend = d.extend and d.ttl > 0
  local cur = rc('GET', d.key)
  if not cur then return hold(d, job.id) end
  if take_over(b, d, job, cur) then return nil end
  if keep_next(b, d, job, cur) then return cur end
  if extend then hold(d, cur) end
  emit_hit(b, d, cur, job.id)
  reschedule(b, d, job, cur)
  return cur
end
