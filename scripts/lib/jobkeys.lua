-- The keys of one job.

-- The base and the id of a full job key: the id is what follows the last colon. Nil: it has none.
function L.split(key)
  return string.match(key, '^(.*:)(.*)$')
end

-- Deletes all that is kept of a job, but not its lock. Returns how many keys there were.
function L.delete_job(key)
  return rc('DEL', key, key .. ':logs', key .. ':dependencies', key .. ':processed', key .. ':failed', key .. ':unsuccessful')
end
