-- Moves from one state to another. The new place is written first, and the old one given up last: a stop in between leaves the job in
-- both. Where a job could be moved again from there, the new place is taken back.

-- Does `move`. If that fails half-way, `back` is done before the error goes on.
function L.guarded(move, back)
  local ok, r = pcall(move)
  if ok then return r end
  pcall(back)
  error(type(r) == 'table' and r.err or r, 0)
end

-- Takes an id out of the places where it would be taken by a worker, or delayed. Whatever fails is passed over.
function L.unplace(b, id, but)
  for _, list in ipairs({ 'wait', 'paused' }) do redis.pcall('LREM', b .. list, 1, id) end
  for _, set in ipairs({ 'prioritized', 'delayed' }) do
    if set ~= but then redis.pcall('ZREM', b .. set, id) end
  end
end

-- The state that a job is in, but for `active`; nil: none. Lists are gone through; with `near` only the 1000 entries at each end, where a
-- stopped call can have put a job: a long list would be gone through for each of many jobs.
function L.placed(b, id, near)
  for _, set in ipairs({ 'completed', 'failed', 'waiting-children', 'delayed', 'prioritized' }) do
    if rc('ZSCORE', b .. set, id) then return set end
  end
  for _, list in ipairs({ 'wait', 'paused' }) do
    if near then
      if rc('LPOS', b .. list, id, 'RANK', -1, 'MAXLEN', 1000) or rc('LPOS', b .. list, id, 'MAXLEN', 1000) then return list end
    elseif rc('LPOS', b .. list, id) then
      return list
    end
  end
end
