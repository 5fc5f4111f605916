-- needs: foreign
-- Answers of a call that takes jobs.

-- Puts a job with all fields of its hash behind the o values of an answer: 'o', id, number of values, names and values. Returns how many
-- it has then.
function L.report(out, o, id, key)
  local h = L.passing(rc, 'HGETALL', key) or {}
  local size = #h
  out[o + 1], out[o + 2], out[o + 3] = 'o', id, size
  for i = 1, size do out[o + 3 + i] = h[i] end
  return o + 3 + size
end
