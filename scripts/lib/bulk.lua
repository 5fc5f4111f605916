-- Commands with more arguments than one call takes.

-- Runs a command of a key with all items, a thousand at a time. Returns the sum of the answers.
function L.bulk(cmd, key, items)
  local sum = 0
  for i = 1, #items, 1000 do
    sum = sum + rc(cmd, key, unpack(items, i, math.min(i + 999, #items)))
  end
  return sum
end
