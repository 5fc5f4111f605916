-- lib: orphan
-- Deletes what is left of deduplication ids whose job is gone, of schedules that are not listed, of their jobs that are
-- in no state, and the keys that are ours alone.
-- KEYS: 1 any key of the queue.
-- ARGV: 1 base, 2 mode, then in turn a kind and an id: "de" and a deduplication id, "repeat" and a schedule's id, "job"
--       and the id of a schedule's job, "gen" and the rest of an own key.
-- Reply: how many keys were deleted.
local n = 0

-- Is "<base><name>" another queue, under this one's name as its prefix? Then its keys look like ours, and all are left.
local function is_queue(name)
  local meta = B .. name .. ':meta'
  return rc('TYPE', meta).ok == 'hash' and rc('HEXISTS', meta, 'opts.maxLenEvents') == 1
end
local other = { de = is_queue('de'), dn = is_queue('dn'), ['repeat'] = is_queue('repeat'), gen = is_queue('gen') }

local function delete(kind, id, typ)
  local key = B .. kind .. ':' .. id
  if not other[kind] and rc('TYPE', key).ok == typ then n = n + rc('DEL', key) end
end

local sweep = {
  job = function(id)
    if not other['repeat'] and L.in_no_state(B, { id })[1] then n = n + L.delete_orphan(B, id) end
  end,
  ['repeat'] = function(id)
    if not rc('ZSCORE', B .. 'repeat', id) then delete('repeat', id, 'hash') end
  end,
  de = function(id)
    local holder = rc('TYPE', B .. 'de:' .. id).ok == 'string' and rc('GET', B .. 'de:' .. id)
    if holder and rc('EXISTS', B .. holder) == 1 then return end
    delete('de', id, 'string')
    delete('dn', id, 'hash')
  end,
  gen = function(id)
    if not other.gen then n = n + rc('DEL', B .. 'gen:' .. id) end
  end,
}
for i = 3, #ARGV, 2 do sweep[ARGV[i]](ARGV[i + 1]) end
return n
