-- lib: removetree foreign
-- Removes one job in any state, and its descendants if asked.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 id, 4 '1': descendants too, 5 now (ms).
-- Reply: 1, also when there is no such job. Codes: 0 a worker holds it or one of them, -8 a schedule waits for it.
local id, deep = ARGV[3], ARGV[4] == '1'
local key = B .. id
local h = L.fields(key, 'rjk', 'parentKey') or {}
if h[1] then
  local slot = rc('ZSCORE', B .. 'repeat', h[1])
  if slot and id == 'repeat:' .. h[1] .. ':' .. int(tonumber(slot)) then return -8 end
end
if L.tree_locked(key, deep, {}) then return 0 end
L.remove_tree(B, id, h[2], deep and 'all' or 'none', tonumber(ARGV[5]), {})
return 1
