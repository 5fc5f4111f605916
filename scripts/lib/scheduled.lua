-- Jobs that a schedule waits for: its next iteration. Removal in bulk spares them, or the schedule would stop.
function L.awaited(b, id)
  local sid, ms = string.match(id, '^repeat:(.*):(%d+)$')
  if not sid then return false end
  local slot = rc('ZSCORE', b .. 'repeat', sid)
  return slot and tonumber(slot) == tonumber(ms) or false
end
