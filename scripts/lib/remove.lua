-- needs: parent jobkeys foreign
-- Plain removal of a job: all that is kept of it goes, and its parent no longer waits for it. Its place in a list or set
-- is the caller's to take away.
--
-- Hard is for removal in bulk: a parent in the same queue that has waited for this child alone goes with it, one in
-- another queue is released without an event. Else a parent is released as if the child were done.

-- Frees the deduplication id that a job holds, and drops the job that was kept to follow it; that one also when the id was freed before.
function L.free_dedup(b, id, deid)
  local holder = b .. 'de:' .. deid
  local held = rc('GET', holder)
  if not held or held == id then rc('DEL', holder, b .. 'dn:' .. deid) end
end

-- Parents that are being removed: jobs may name one another as children.
local going = {}

-- Makes the parent `pkey` no longer wait for the child `key`. `b` is the base of the child's queue.
function L.detach(b, key, pkey, hard, now)
  if not pkey or pkey == '' or rc('EXISTS', pkey) == 0 then return end
  local pending = pkey .. ':dependencies'
  if rc('SISMEMBER', pending, key) == 0 then return end
  local pb, pid = L.split(pkey)
  if pb and rc('SCARD', pending) == 1 and rc('ZSCORE', pb .. 'waiting-children', pid) and not going[pkey] then
    if hard and pb == b then
      going[pkey] = true
      L.remove_job(pb, pid, hard, now)
      rc('ZREM', pb .. 'waiting-children', pid)
      return
    end
    L.move_parent_from('waiting-children', pb, pid, now, hard)
  end
  rc('SREM', pending, key)
end

-- Removes a job. With keep_dedup the deduplication id that it holds is left: what retention drops had its time. A key that is no
-- hash is not a job's, and stays.
function L.remove_job(b, id, hard, now, keep_dedup)
  local key = b .. id
  local h = L.fields(key, 'parentKey', 'deid')
  if not h then return 0 end
  L.passing(L.detach, b, key, h[1], hard, now)
  if h[2] and not keep_dedup then L.passing(L.free_dedup, b, id, h[2]) end
  return L.delete_job(key)
end
