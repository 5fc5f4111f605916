-- lib: removetree
-- Removes the pending children of a job and what they wait for, on every level but those that a worker holds or that
-- have failed.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 id, 4 now (ms).
-- Reply: how many children were removed. Code: -1 no such job.
local key, now, n = B .. ARGV[3], tonumber(ARGV[4]), 0
if rc('EXISTS', key) == 0 then return -1 end
local seen = { [key] = true }
for _, child in ipairs(L.children(key, false)) do
  if not L.spared(child) then
    local cb, cid = L.split(child)
    L.remove_tree(cb, cid, key, 'pending', now, seen)
    n = n + 1
  end
end
return n
