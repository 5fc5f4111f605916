-- lib: orphan
-- Takes ids of finished jobs whose hash is gone out of their state, with the keys that are left of them.
-- KEYS: 1 any key of the queue.
-- ARGV: 1 base, 2 mode, 3 "completed" or "failed", 4 how many are passed over first, 5 how many are looked at, 6 how many go at most (0: all).
-- Reply: how many went, how many of those looked at stay, 1 when there may be more or else 0.
local set, from, count, most = B .. ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local ids, n = rc('ZRANGE', set, from, from + count - 1), 0
for _, id in ipairs(ids) do
  if most > 0 and n >= most then break end
  if rc('EXISTS', B .. id) == 0 then
    L.delete_orphan(B, id)
    rc('ZREM', set, id)
    n = n + 1
  end
end
return { n, #ids - n, #ids == count and 1 or 0 }
