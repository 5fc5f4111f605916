-- lib: orphan
-- Deletes those of the jobs named that are in no state.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 how many at most (0: all), then ids.
-- Reply: how many were deleted.
local most, ids, n = tonumber(ARGV[3]), {}, 0
for i = 4, #ARGV do ids[#ids + 1] = ARGV[i] end
for _, id in ipairs(L.in_no_state(B, ids)) do
  if most > 0 and n >= most then break end
  if L.delete_orphan(B, id) > 0 then n = n + 1 end
end
return n
