-- lib: lists foreign
-- Reads a page of each of some states.
-- KEYS: 1 any key of the queue.
-- ARGV: 1 base, 2 mode, 3 and 4 first and last place of the page, from 0 (negative: from the end, which is -1), 5 '1': oldest first, 6 '1': the jobs
--       too, then "list" or "set" and the key's name for each state; "list" "wait" stands for all that waits.
-- Reply: for each state its ids, or with jobs: id, fields, id, fields, ...; ids without a job are passed over then, and
-- a page that has an end is filled from what follows.
local first, last, asc, jobs = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == '1', ARGV[6] == '1'

-- The entries at `from` to `to`, counted from the left, of what is in `wait` and to its right in `paused`.
local function read_lists(names, from, to)
  local ids, base = {}, 0
  for _, name in ipairs(names) do
    local n = L.list_len(B .. name)
    local a, z = math.max(from - base, 0), math.min(to - base, n - 1)
    if a <= z then
      for _, id in ipairs(rc('LRANGE', B .. name, a, z)) do ids[#ids + 1] = id end
    end
    base = base + n
  end
  return ids
end

local function list_page(names, from, to)
  local n = 0
  for _, name in ipairs(names) do n = n + L.list_len(B .. name) end
  if from < 0 then from = math.max(0, n + from) end
  to = math.min(to < 0 and n + to or to, n - 1)
  if not asc then return read_lists(names, from, to) end
  return L.reverse(read_lists(names, n - 1 - to, n - 1 - from))
end

local function page(kind, name, from, to)
  if kind == 'set' then return rc(asc and 'ZRANGE' or 'ZREVRANGE', B .. name, from, to) end
  return list_page(name == 'wait' and { 'wait', 'paused' } or { name }, from, to)
end

local function job_page(kind, name)
  local out, from, to = {}, first, last
  while true do
    local ids = page(kind, name, from, to)
    for _, id in ipairs(ids) do
      local fields = redis.pcall('HGETALL', B .. id)
      if fields.err then
        L.is_foreign(fields) -- no job
      elseif #fields > 0 then
        out[#out + 1] = id
        out[#out + 1] = fields
      end
    end
    local short = last - first + 1 - #out / 2
    if first < 0 or last < 0 or short <= 0 or #ids < to - from + 1 then return out end
    from, to = to + 1, to + short
  end
end

local reply = {}
for i = 7, #ARGV, 2 do
  local read = jobs and job_page or page
  reply[#reply + 1] = read(ARGV[i], ARGV[i + 1], first, last)
end
return reply
