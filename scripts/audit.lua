-- Reads what the audit checks, as it is at one moment. Changes nothing.
-- KEYS  1 a key of the queue
-- ARGV  1 base  2 mode  3 what  then its arguments:
--   job PAYLOADS IDS...     jobs, without their places in lists: those of a long list take long to find
--   exact PAYLOADS IDS...   the same with the places in lists
--   child ID KEYS...        children that the parent ID refers to
--   dedup IDS...            deduplication ids
-- Reply: a list for each of the last arguments, see audit/read.go.
-- Payloads are read only if PAYLOADS is '1'; else the text of one that exists is 'null'.
local function typed(key, kind) return rc('TYPE', key).ok == kind end
local function at(list, id) return #rc('LPOS', B .. list, id, 'COUNT', 0) end

local FIELDS = {
  'opts', 'timestamp', 'delay', 'priority', 'processedOn', 'finishedOn', 'ats', 'atm', 'stc', 'parentKey', 'parent', 'deid', 'defa',
  'flowAttachmentFailed',
}
local PAYLOADS = { 'name', 'data', 'returnvalue', 'failedReason', 'progress', 'stacktrace' }
local SETS = { 'prioritized', 'delayed', 'waiting-children', 'completed', 'failed' }

local function fields(key, payloads)
  local out = {}
  for i, v in ipairs(rc('HMGET', key, unpack(FIELDS))) do
    if v then out[#out + 1], out[#out + 2] = FIELDS[i], v end
  end
  for _, f in ipairs(PAYLOADS) do
    if rc('HEXISTS', key, f) == 1 then out[#out + 1], out[#out + 2] = f, payloads and rc('HGET', key, f) or 'null' end
  end
  return out
end

local function parent(key)
  local pkey = rc('HGET', key, 'parentKey')
  if not pkey or not typed(pkey, 'hash') then return false end
  local waits = typed(pkey .. ':dependencies', 'set') and rc('SISMEMBER', pkey .. ':dependencies', key) or 0
  return { rc('HGET', pkey, 'timestamp') or '0', waits }
end

local function job(id, payloads, exact)
  local key = B .. id
  local kind = rc('TYPE', key).ok
  local scores = {}
  for _, set in ipairs(SETS) do scores[#scores + 1] = rc('ZSCORE', B .. set, id) end
  local out = { kind, {}, scores, exact and { at('wait', id), at('paused', id), at('active', id) } or {} }
  if kind ~= 'hash' then return out end
  out[2] = fields(key, payloads)
  out[5] = typed(key .. ':lock', 'string') and rc('PTTL', key .. ':lock') or -2
  out[6] = rc('SISMEMBER', B .. 'stalled', id)
  out[7] = typed(key .. ':dependencies', 'set') and rc('SCARD', key .. ':dependencies') or 0
  out[8] = typed(key .. ':unsuccessful', 'zset') and rc('ZCARD', key .. ':unsuccessful') or 0
  out[9] = parent(key)
  return out
end

local function child(pid, key)
  local pkey = B .. pid
  local out = {
    typed(pkey .. ':dependencies', 'set') and rc('SISMEMBER', pkey .. ':dependencies', key) or 0,
    typed(pkey .. ':unsuccessful', 'zset') and rc('ZSCORE', pkey .. ':unsuccessful', key) or false,
    0,
  }
  local cb, cid = string.match(key, '^(.*:)(.*)$')
  if not cb or not typed(key, 'hash') then return out end
  local h = rc('HMGET', key, 'parentKey', 'timestamp')
  out[3], out[4], out[5] = 1, h[1] or '', h[2] or '0'
  out[6] = rc('ZSCORE', cb .. 'completed', cid) and 1 or 0
  out[7] = rc('ZSCORE', cb .. 'failed', cid) and 1 or 0
  return out
end

local function dedup(id)
  local key = B .. 'de:' .. id
  local holder = typed(key, 'string') and rc('GET', key)
  local out = { holder or '', rc('PTTL', key), 0 }
  if holder and typed(B .. holder, 'hash') then
    local finished = rc('ZSCORE', B .. 'completed', holder) or rc('ZSCORE', B .. 'failed', holder)
    out[3], out[4], out[5] = 1, rc('HGET', B .. holder, 'deid') or '', finished and 1 or 0
  end
  return out
end

local what, replies = ARGV[3], {}
for i = what == 'dedup' and 4 or 5, #ARGV do
  local one
  if what == 'child' then one = child(ARGV[4], ARGV[i])
  elseif what == 'dedup' then one = dedup(ARGV[i])
  else one = job(ARGV[i], ARGV[4] == '1', what == 'exact') end
  replies[#replies + 1] = one
end
return replies
