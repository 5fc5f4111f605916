-- What other programs may have written: a key of another type, text where a number belongs. One such job must not stop the others.

-- A number, or nil: the text is none, or not a number.
function L.number(v)
  v = tonumber(v)
  if v == v then return v end
end

-- Whether an error says that a key has another type than a queue's key of that name has; any other error goes on.
function L.is_foreign(e)
  if type(e) == 'table' then e = e.err end
  if string.find(e, 'WRONGTYPE', 1, true) then return true end
  error(e, 0)
end

-- Calls f, and returns what it does; nil when a key of another type is in its way.
function L.passing(f, ...)
  local ok, r = pcall(f, ...)
  if ok then return r end
  L.is_foreign(r)
end

-- Fields of a job, as HMGET returns them; nil when the key is no hash, and so is of no job.
function L.fields(key, ...)
  local h = redis.pcall('HMGET', key, ...)
  if not h.err then return h end
  L.is_foreign(h)
end

function L.is_job(key) return rc('EXISTS', key) == 1 and L.fields(key, 'name') ~= nil end
