-- Deletes what is left of deduplication ids whose job is gone, and of schedulers that are not listed.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, then "de" and a deduplication id, or "repeat" and a scheduler's id, ...
-- Reply: how many keys were deleted.
local n = 0

-- Is "<base><name>" another queue, under this one's name as its prefix? Then its keys look like ours.
local function is_queue(name)
  local meta = B .. name .. ':meta'
  return rc('TYPE', meta).ok == 'hash' and rc('HEXISTS', meta, 'opts.maxLenEvents') == 1
end
local other = { de = is_queue('de'), dn = is_queue('dn'), ['repeat'] = is_queue('repeat') }

local function delete(kind, id, typ)
  local key = B .. kind .. ':' .. id
  if not other[kind] and rc('TYPE', key).ok == typ then n = n + rc('DEL', key) end
end

for i = 3, #ARGV, 2 do
  local id = ARGV[i + 1]
  if ARGV[i] == 'repeat' then
    if not rc('ZSCORE', B .. 'repeat', id) then delete('repeat', id, 'hash') end
  else
    local held = rc('TYPE', B .. 'de:' .. id).ok == 'string'
    if not held or rc('EXISTS', B .. rc('GET', B .. 'de:' .. id)) == 0 then
      delete('de', id, 'string')
      delete('dn', id, 'hash')
    end
  end
end
return n
