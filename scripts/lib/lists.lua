-- needs: bulk move
-- Waiting jobs may stand in two lists: in `wait`, and in `paused` where a 5.x peer paused the queue. As one list they are
-- `wait` and to its right `paused`, whose jobs run first.

-- Turns a table round, and returns it.
function L.reverse(t)
  local n = #t
  for i = 1, math.floor(n / 2) do t[i], t[n + 1 - i] = t[n + 1 - i], t[i] end
  return t
end

-- Makes one list of both, under the key `to`, which is one of them. At most `most` jobs change their list: what is left
-- over is still in `paused`, and its number is returned. No job is ever between the two, and none changes its place.
function L.join_lists(b, to, most)
  local wait, paused = b .. 'wait', b .. 'paused'
  local w, p = rc('LLEN', wait), rc('LLEN', paused)
  local whole = p > 0 and paused or wait
  if w > 0 and p > 0 then
    if w < p and w <= most then
      L.guarded(function()
        L.bulk('LPUSH', paused, L.reverse(rc('LRANGE', wait, 0, -1)))
        rc('DEL', wait)
      end, function() redis.pcall('LTRIM', paused, -p, -1) end)
    else
      local n = math.min(p, most)
      L.guarded(function()
        L.bulk('RPUSH', wait, rc('LRANGE', paused, 0, n - 1))
        rc('LTRIM', paused, n, -1)
      end, function() redis.pcall('LTRIM', wait, 0, w - 1) end)
      if n < p then return p - n end
      whole = wait
    end
  end
  if whole ~= to and w + p > 0 then rc('RENAME', whole, to) end
  return 0
end

-- Takes some of the entries at `from` to `to` out of a list: those that are not in the table `stay`. They become markers of 4.x, which
-- every peer passes over, and these are removed from the nearer end: a stop leaves no job out of the list.
function L.cut_list(key, from, to, ids, stay)
  local n = 0
  for i, id in ipairs(ids) do
    if not stay[id] then
      rc('LSET', key, from + i - 1, '0:gone')
      n = n + 1
    end
  end
  if n > 0 then rc('LREM', key, from <= rc('LLEN', key) - 1 - to and n or -n, '0:gone') end
end

-- How many jobs a list holds. An entry that begins with '0:' at its right end is a marker of 4.x and no job.
function L.list_len(key)
  local n = rc('LLEN', key)
  if n > 0 and string.sub(rc('LINDEX', key, -1), 1, 2) == '0:' then n = n - 1 end
  return n
end
