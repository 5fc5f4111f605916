-- lib: intake childdone parent bulk marker
-- Adds jobs that wait for each other, all or none: parents stand before their children, and all have ids.
-- KEYS: 1 any key of the first job's queue.
-- ARGV: 1 base, 2 mode, 3 now (ms), 4 time (ms) of the jobs that have none of their own, 5 number of queues, 6 of parents, 7 of jobs.
--   Then the base of each queue. Then of each parent: its key, its number among the jobs (0: it must be there already), and what its
--   children keep of it as JSON, without the closing brace. Then of each job: number of its queue, number of its parent (0: none),
--   policy ('' or as stored), how many of what follows are its own, and then the job as in `add`, with one more flag: o, when it is
--   there already, nothing below it is added.
-- Reply: 0, then of each job that was not added: its number, why (1 it, or one with its deduplication id, is there already, 2 one
--   above it is), and its id. Or, when nothing was done: -5 (a parent does not exist) or -7 (a job belongs to another parent), and the
--   number of the job.
local now, n, min = tonumber(ARGV[3]), tonumber(ARGV[7]), math.min
local queues, parents = {}, {}
local at, keys = {}, {} -- where each job begins, and its key
local number, up = {}, {} -- of the queue of each job, and its parent
local there, closed = {}, {} -- whether it exists; whether nothing below it is to be added
local a = 8
for i = 1, tonumber(ARGV[5]) do
  queues[i] = { b = ARGV[a], count = 0 }
  a = a + 1
end
for i = 1, tonumber(ARGV[6]) do
  parents[i] = { key = ARGV[a], node = tonumber(ARGV[a + 1]), head = ARGV[a + 2] }
  a = a + 3
end
for i = 1, n do
  local k = tonumber(ARGV[a])
  local q = queues[k]
  at[i], number[i], up[i] = a, k, parents[tonumber(ARGV[a + 1])]
  keys[i] = q.b .. ARGV[a + 8]
  q.count = q.count + 1
  a = a + 4 + ARGV[a + 3]
end

-- Marks the jobs that exist, and those below one that is to be left as it is. Jobs with fresh ids are many, and asked for together.
local function look()
  local some = 0
  for low = 1, n, 1000 do some = some + rc('EXISTS', unpack(keys, low, min(low + 999, n))) end
  if some == 0 then return false end
  for i = 1, n do
    local p = up[i]
    if p and closed[p.node] then
      closed[i] = true
      queues[number[i]].count = queues[number[i]].count - 1
    else
      there[i] = rc('EXISTS', keys[i]) == 1
      closed[i] = there[i] and string.find(ARGV[at[i] + 4], 'o', 1, true) ~= nil
    end
  end
  return true
end

-- A parent that does not exist, or a job that belongs to another parent: code and number, or nil.
local function refused()
  for k = 1, #parents do
    if parents[k].node == 0 and rc('EXISTS', parents[k].key) == 0 then
      for i = 1, n do
        if up[i] == parents[k] then return { '-5', int(i) } end
      end
    end
  end
  if not look() then return end
  local own = {} -- the jobs before this one
  for i = 1, n do
    local p = up[i]
    if p and there[i] then
      local old = rc('HGET', keys[i], 'parentKey')
      if old and old ~= '' and old ~= p.key and (own[old] or rc('EXISTS', old) == 1) then return { '-7', int(i) } end
    end
    own[keys[i]] = true
  end
end
local no = refused()
if no then return no end

for k = 1, #queues do
  local b, count = queues[k].b, queues[k].count
  local meta = rc('HMGET', b .. 'meta', 'paused', 'concurrency', 'opts.maxLenEvents')
  queues[k] = L.intake(b, meta, meta[3], ARGV[4], {})
  queues[k].count = count
  if count > 0 then
    rc('INCRBY', b .. 'id', int(count))
    if not meta[3] then queues[k].max = L.max_events(b) end
  end
end

local function flush()
  for _, q in ipairs(queues) do
    L.bulk('LPUSH', q.list, q.back)
    q.back = {}
    L.flush_intake(q)
  end
end

-- What a child keeps of its parent. Most children of one have the same.
local function link(p, policy)
  local json = p[policy]
  if not json then
    json = p.head .. (policy == '' and '}' or ',"' .. policy .. '":true}')
    p[policy] = json
  end
  return json
end

-- Adds job i, which is child of p; returns its id if there is one already.
local node = {}
local function add(i, p, late)
  local x = at[i]
  local q, policy = queues[number[i]], ARGV[x + 2]
  node.pkey, node.parent, node.there = nil, nil, there[i]
  if p then node.pkey, node.parent = p.key, link(p, policy) end
  local id, _, note = L.take_in(q, x + 8, 0, node)
  if not note then
    if p then
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

-- The same for a new child that begins at once, without options of its own that matter here: the most of the jobs of most flows.
local function add_plain(i, p)
  local x = at[i]
  local q, key, id, name = queues[number[i]], keys[i], ARGV[x + 8], ARGV[x + 5]
  rc('HSET', key, 'name', name, 'data', ARGV[x + 6], 'opts', ARGV[x + 7], 'timestamp', q.time, 'delay', '0', 'priority', '0',
    'parentKey', p.key, 'parent', link(p, ARGV[x + 2]))
  rc('XADD', q.events, '*', 'event', 'added', 'jobId', id, 'name', name)
  rc('XADD', q.events, '*', 'event', 'waiting', 'jobId', id)
  q.back[#q.back + 1], q.wake = id, true
  local children = p.children
  if not children then
    children = {}
    p.children = children
  end
  children[#children + 1] = key
end

local reply, late = { '0' }, {}
local function say(i, why, id)
  local r = #reply
  reply[r + 1], reply[r + 2], reply[r + 3] = int(i), why, id
end
for i = 1, n do
  local p = up[i]
  if p and closed[p.node] then
    say(i, '2', '')
  else
    if p and ARGV[at[i] + 4] == 'if' and not there[i] then
      add_plain(i, p)
    else
      local id = add(i, p, late)
      if id then say(i, '1', id) end
    end
    if i % 500 == 0 then flush() end -- Lua puts no more than some thousands of arguments on its stack
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
  if not p.children and not closed[p.node] and rc('HDEL', p.key, 'flowAttachmentFailed') == 0 then
    local pb, pid = L.split(p.key)
    L.release_parent(pb, pid, now)
  end
end
for _, q in ipairs(queues) do
  if q.wake then
    local _, blocked = L.blocked(q.b)
    L.wake(q.b, blocked)
  end
  if q.count > 0 then rc('XTRIM', q.events, 'MAXLEN', '~', q.max) end
end
return reply
