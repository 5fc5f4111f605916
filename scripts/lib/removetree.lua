-- needs: remove events marker foreign
-- Removal of one job by name, with an event, and of its descendants if asked.

-- Takes a job out of the state that it is in, and names it.
function L.take_out(b, id)
  for _, set in ipairs({ 'completed', 'waiting-children', 'delayed', 'failed', 'prioritized' }) do
    if rc('ZREM', b .. set, id) == 1 then return set end
  end
  for _, list in ipairs({ 'wait', 'paused', 'active' }) do
    if rc('LREM', b .. list, 1, id) == 1 then return list end
  end
  return 'unknown'
end

-- The children of a job: with all, first those that are done, then the pending ones. Sets and hashes have no order of
-- their own, and servers differ in it: sorted, a removal takes the same course everywhere.
function L.children(key, all)
  local out = {}
  local function add(...)
    local keys = L.passing(rc, ...) or {}
    table.sort(keys)
    for _, k in ipairs(keys) do out[#out + 1] = k end
  end
  if all then
    add('HKEYS', key .. ':processed')
    add('HKEYS', key .. ':failed')
    add('ZRANGE', key .. ':unsuccessful', 0, -1)
  end
  add('SMEMBERS', key .. ':dependencies')
  return out
end

-- Does a worker hold the job, or with `deep` one that would be removed with it? A child that is done may run again, for
-- another parent.
function L.tree_locked(key, deep, seen)
  if seen[key] then return false end
  seen[key] = true
  if rc('EXISTS', key .. ':lock') == 1 then return true end
  if not deep then return false end
  for _, child in ipairs(L.children(key, true)) do
    if L.tree_locked(child, deep, seen) then return true end
  end
  return false
end

-- Is a pending child spared: held by a worker, or failed?
function L.spared(child)
  local cb, cid = L.split(child)
  return not cb or rc('EXISTS', child .. ':lock') == 1 or rc('ZSCORE', cb .. 'failed', cid)
end

-- Removes a job. `parent` is the key of the job whose removal this is part of, or nil. `which`: 'all' children go too,
-- 'pending' ones that are not spared, or 'none'. `seen` keeps jobs that name one another as children from going round
-- for ever.
function L.remove_tree(b, id, parent, which, now, seen)
  local key = b .. id
  if seen[key] then return end
  seen[key] = true
  local h = L.fields(key, 'parentKey', 'deid')
  local job = h ~= nil -- a key that is no hash is not a job's, and stays
  h = h or {}
  L.passing(L.detach, b, key, parent, false, now)
  -- Even a child that was given another parent meanwhile must not leave that one waiting for it.
  if h[1] ~= parent then L.passing(L.detach, b, key, h[1], false, now) end
  if which ~= 'none' then
    for _, child in ipairs(L.children(key, which == 'all')) do
      local cb, cid = L.split(child)
      if cb and (which == 'all' or not L.spared(child)) then L.remove_tree(cb, cid, key, which, now, seen) end
    end
  end
  if h[2] then L.passing(L.free_dedup, b, id, h[2]) end
  -- An id that is left without its job is passed over. A job that is left in no state would never be found again.
  local gone = job and L.delete_job(key) > 0
  local prev = L.take_out(b, id)
  if prev == 'active' then L.wake_for_slot(b) end
  if gone then L.emit_capped(b, 'removed', 'jobId', id, 'prev', prev) end
end
