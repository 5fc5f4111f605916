-- needs: waiting
-- Jobs to be added come in runs, see script `add`. A table `q` is the queue they go to: `b` its base, `events`, `max` (events that
-- it keeps; nil: not set yet), `list` (of waiting jobs), `time` (of jobs that have none of their own), and what is gathered to be
-- written at once: `back`, `front` (ids for the two ends of the list), `prio` (ids and priorities), `later` (scores and ids of
-- delayed jobs), `slots` (the last score given for a time), `made` (what was stored, for an undo), `old` (jobs that are replaced, by id), `wake` and `wake_later` (the markers to set). `cut` is set for the
-- call's last job.

function L.intake(b, meta, max, time, back)
  return {
    b = b, events = b .. 'events', max = max, list = L.wait_key(b, meta[1]), time = time,
    back = back, front = {}, prio = {}, later = {}, slots = {}, wake = false, wake_later = false, made = {}, old = {},
  }
end

local function dedup_of(b, id, ttl, how, waits)
  local function has(switch) return string.find(how, switch, 1, true) end
  return {
    id = id, key = b .. 'de:' .. id, next = b .. 'dn:' .. id, ttl = tonumber(ttl), extend = has('e'),
    replace = not waits and has('r'), keep_last = has('k'), reschedule = has('s'),
  }
end

-- Reads what the jobs of a run have in common, from ARGV[a] on; see script `add`. Returns it, and the place of the first job.
-- `plain` is one whose jobs are stored and wait, for a worker or for their children (`w`), and that is all.
function L.run(b, a)
  local run = { count = 1, name = ARGV[a + 1], opts = ARGV[a + 2], delay = '0', priority = '0', plain = true }
  local x, dedup = a + 3, nil
  for flag in string.gmatch(ARGV[a], '.') do
    if flag == 'i' or flag == 'w' or flag == 'o' then
      run[flag] = true
    elseif flag == '*' then
      run.count, x = tonumber(ARGV[x]), x + 1
    elseif flag == 't' then
      run.time, x = ARGV[x], x + 1
    elseif flag == 'N' then
      run.names, x = cjson.decode(ARGV[x]), x + 1
    else
      run.plain = false
      if flag == 'd' then
        run.delay, x = ARGV[x], x + 1
      elseif flag == 'p' then
        run.priority, x = ARGV[x], x + 1
      elseif flag == 'P' then
        run.pkey, run.parent, x = ARGV[x], ARGV[x + 1], x + 2
      elseif flag == 's' then
        run.rjk, x = ARGV[x], x + 1
      elseif flag == 'D' then
        dedup, x = x, x + 3
      else
        run[flag] = true
      end
    end
  end
  if dedup then run.dedup = dedup_of(b, ARGV[dedup], ARGV[dedup + 1], ARGV[dedup + 2], run.w) end
  return run, x
end

-- Whether a job that is there under an id of the run is of another task, by its name.
function L.other_task(run, name)
  if not run.names or not name or name == '' then return false end
  for _, known in ipairs(run.names) do
    if known == name then return false end
  end
  return true
end
