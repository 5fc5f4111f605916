-- lib: removetree
-- Removes pending children of a job and what they wait for, on every level but those that a worker holds or that
-- have failed.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 id, 4 now (ms), 5 '0', or what the call before answered.
-- Reply: 0 and what the next call is to be given, '0' when all children were looked at. Or -1: no such job.
-- Of many children a call looks at about 500.
local key, now = B .. ARGV[3], tonumber(ARGV[4])
if rc('EXISTS', key) == 0 then return { '-1', '0' } end
local pending, at, children = key .. ':dependencies', ARGV[5], nil
if at == '0' and rc('SCARD', pending) <= 500 then
  children = L.children(key, false)
else
  local page = rc('SSCAN', pending, at, 'COUNT', 500)
  at, children = page[1], page[2]
end
local seen = { [key] = true }
for _, child in ipairs(children) do
  if not L.spared(child) then
    local cb, cid = L.split(child)
    L.remove_tree(cb, cid, key, 'pending', now, seen)
  end
end
return { '0', at }
