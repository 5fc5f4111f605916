-- lib: run bulk events move
-- lazy: intake childdone parent
-- Adds jobs that wait for each other, all or none: parents stand before their children, and all have ids.
-- KEYS: 1 any key of the first job's queue.
-- ARGV: 1 base, 2 mode, 3 now (ms), 4 time (ms) of the jobs that have none of their own, 5 number of queues, 6 of parents, 7 of runs.
--   Then the base of each queue. Then of each parent: its key, its number among the jobs (0: it must be there already), and what its
--   children keep of it as JSON, without the closing brace. Then of each run of jobs: number of its queue, number of its parent (0:
--   none), policy ('' or as stored), and then the run as in `add`, with one more flag: o, when a job is there already, nothing below
--   it is added. All jobs have ids.
-- Reply: 0, then of each job that was not added: its number, why (1 it, or one with its deduplication id, is there already, 2 one
--   above it is), its id, and of one that is there its name (else ''). Or, when nothing was done: -5 (a parent does not exist), -7 (a job belongs to another parent) or -10 (its
--   id is that of a job of another task), and the number of the job.
local argv, now, min = ARGV, tonumber(ARGV[3]), math.min
local queues, parents, runs = {}, {}, {}
local n, keys = 0, {} -- the jobs, and their keys
local there, closed = {}, {} -- whether a job exists; whether nothing below it is to be added
local a = 8
for k = 1, tonumber(argv[5]) do
  local b = argv[a]
  local meta = rc('HMGET', b .. 'meta', 'paused', 'concurrency', 'opts.maxLenEvents')
  local q = L.intake(b, meta, meta[3], argv[4], {})
  q.blocked = meta[1] or meta[2] and rc('LLEN', b .. 'active') >= (tonumber(meta[2]) or math.huge)
  q.waiting, q.count = {}, 0 -- times and ids of jobs that wait for children; how many are added
  queues[k], a = q, a + 1
end
for k = 1, tonumber(argv[6]) do
  parents[k] = { key = argv[a], node = tonumber(argv[a + 1]), head = argv[a + 2] }
  a = a + 3
end
-- A run has besides: `q`, `up` (its parent), `policy`, `at` (where its first job begins), `before` (jobs of the runs before it).
for k = 1, tonumber(argv[7]) do
  local q = queues[tonumber(argv[a])]
  local b = q.b
  local run, at = L.run(b, a + 3)
  run.q, run.up, run.policy, run.at, run.before = q, parents[tonumber(argv[a + 1])], argv[a + 2], at, n
  runs[k], a = run, at + 2 * run.count
  for x = at + 1, a, 2 do
    n = n + 1
    keys[n] = b .. argv[x]
  end
  q.count = q.count + run.count
end

-- Marks the jobs that exist, and those below one that is to be left as it is. Jobs with fresh ids are many, and asked for together.
local function look()
  local some = 0
  for low = 1, n, 1000 do some = some + rc('EXISTS', unpack(keys, low, min(low + 999, n))) end
  if some == 0 then return false end
  for _, run in ipairs(runs) do
    for i = run.before + 1, run.before + run.count do
      if run.up and closed[run.up.node] then
        closed[i] = true
        run.q.count = run.q.count - 1
      else
        there[i] = rc('EXISTS', keys[i]) == 1
        closed[i] = there[i] and run.o
      end
    end
  end
  return true
end

-- A parent that does not exist, or a job that belongs to another parent: code and number. Else nil, and whether a job exists.
local function refused()
  for k = 1, #parents do
    if parents[k].node == 0 and rc('EXISTS', parents[k].key) == 0 then
      for _, run in ipairs(runs) do
        if run.up == parents[k] then return { '-5', int(run.before + 1) } end
      end
    end
  end
  if not look() then return nil, false end
  local own = {} -- the jobs before this one
  for _, run in ipairs(runs) do
    local p = run.up
    for i = run.before + 1, run.before + run.count do
      if there[i] and (p or run.names) then
        local is = rc('HMGET', keys[i], 'parentKey', 'name')
        local old = p and is[1]
        if L.other_task(run, is[2]) then return { '-10', int(i), is[2] } end
        if old and old ~= '' and old ~= p.key and (own[old] or rc('EXISTS', old) == 1) then return { '-7', int(i) } end
      end
      own[keys[i]] = true
    end
  end
  return nil, true
end
local no, some = refused()
if no then return no end

for _, q in ipairs(queues) do
  if q.count > 0 then
    rc('INCRBY', q.b .. 'id', int(q.count))
    if not q.max then q.max = L.max_events(q.b) end
  end
end

local function flush_waiting()
  for _, q in ipairs(queues) do
    if q.waiting[1] then
      L.bulk('ZADD', q.b .. 'waiting-children', q.waiting)
      q.waiting = {}
    end
  end
end

local mixed = false -- whether there was a job that is not plain
local function flush()
  flush_waiting()
  for _, q in ipairs(queues) do
    L.bulk('LPUSH', q.list, q.back)
    q.back = {}
    if mixed then L.flush_intake(q) end
  end
end

-- What a child keeps of its parent.
local function link(p, policy) return p.head .. (policy == '' and '}' or ',"' .. policy .. '":true}') end

-- Adds the jobs of a plain run, none of which exists. They are the most of the jobs of most flows.
local function add_plain(run)
  local q, p, x, name, opts = run.q, run.up, run.at, run.name, run.opts
  local events, time, to, waits = q.events, run.time or q.time, run.w and q.waiting or q.back, run.w
  local parent = p and link(p, run.policy)
  local first, last, k = run.before + 1, run.before + run.count, #to
  for i = first, last do
    local id = argv[x + 1]
    if p then
      rc('HSET', keys[i], 'name', name, 'data', argv[x], 'opts', opts, 'timestamp', time, 'delay', '0', 'priority', '0',
        'parentKey', p.key, 'parent', parent)
    else
      rc('HSET', keys[i], 'name', name, 'data', argv[x], 'opts', opts, 'timestamp', time, 'delay', '0', 'priority', '0')
    end
    rc('XADD', events, '*', 'event', 'added', 'jobId', id, 'name', name)
    if waits then
      rc('XADD', events, '*', 'event', 'waiting-children', 'jobId', id)
      k = k + 1
      to[k] = time
    else
      rc('XADD', events, '*', 'event', 'waiting', 'jobId', id)
    end
    k, x = k + 1, x + 2
    to[k] = id
  end
  if not waits then q.wake = true end
  if p then
    p.pending = true
    for low = first, last, 1000 do rc('SADD', p.key .. ':dependencies', unpack(keys, low, min(low + 999, last))) end
  end
end

-- Adds job i of a run, whose data are argv[x]; returns its id if there is one already.
local function add(run, i, x, late)
  local q, p, policy = run.q, run.up, run.policy
  local node = { there = there[i] }
  if p then node.pkey, node.parent = p.key, link(p, policy) end
  local id, _, note = L.take_in(q, run, x, '', node)
  if not note then
    if p then
      p.pending = true
      p.children = p.children or {}
      table.insert(p.children, keys[i])
    end
    return
  end
  if p and policy ~= '' and rc('ZSCORE', q.b .. 'failed', id) then
    late[#late + 1] = { keys[i], p.key, node.parent, rc('HGET', keys[i], 'failedReason') or '' }
  end
  return id
end

local function main()
  local reply, late = { '0' }, {}
  local function say(i, why, id, name)
    local r = #reply
    reply[r + 1], reply[r + 2], reply[r + 3], reply[r + 4] = int(i), why, id, name
  end
  for _, run in ipairs(runs) do
    if run.plain and not some then
      add_plain(run)
    else
      mixed = true
      cold()
      flush_waiting() -- a job may meet those before it
      for k = 1, run.count do
        local i, p = run.before + k, run.up
        if p and closed[p.node] then
          say(i, '2', '', '')
        else
          local id = add(run, i, run.at + 2 * k - 2, late)
          if id then say(i, '1', id, rc('HGET', run.q.b .. id, 'name') or '') end
        end
        if i % 500 == 0 then flush() end -- Lua puts no more than some thousands of arguments on its stack
      end
    end
  end
  flush()
  for _, p in ipairs(parents) do
    if p.children then L.bulk('SADD', p.key .. ':dependencies', p.children) end
  end
  -- A child that had failed before counts as one that fails now: nobody would tell its new parent later.
  for _, c in ipairs(late) do L.child_failed(c[1], c[2], c[3], c[4], now) end
  -- A parent all of whose children were done before has nothing to wait for. The field is one by which peers mark that a child was
  -- refused; here that refuses all.
  for _, p in ipairs(parents) do
    if not p.pending and not closed[p.node] and rc('HDEL', p.key, 'flowAttachmentFailed') == 0 then
      local pb, pid = cold().split(p.key)
      if pb then L.release_parent(pb, pid, now) end
    end
  end
  for _, q in ipairs(queues) do
    if L.drop_replaced then L.drop_replaced(q) end
    if q.wake then L.wake(q.b, q.blocked) end
    if q.count > 0 then rc('XTRIM', q.events, 'MAXLEN', '~', q.max) end
  end
  return reply
end

-- All or nothing: what a call that fails has stored is taken back.
return L.guarded(main, function()
  for _, run in ipairs(runs) do
    for i = run.before + 1, run.before + run.count do
      if not there[i] and not closed[i] then
        local id = argv[run.at + 2 * (i - run.before) - 1]
        L.unplace(run.q.b, id)
        redis.pcall('ZREM', run.q.b .. 'waiting-children', id)
        redis.pcall('DEL', keys[i], keys[i] .. ':dependencies', keys[i] .. ':processed')
      end
      if run.up and run.up.node == 0 and not there[i] then redis.pcall('SREM', run.up.key .. ':dependencies', keys[i]) end
    end
  end
  if mixed then
    for _, q in ipairs(queues) do L.undo_intake(q) end
  end
end)
