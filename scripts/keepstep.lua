-- Keeps the result of a step with a job that is being worked on. Peers ignore the fields, which go with the job.
-- KEYS: 1 any key of the queue.  ARGV: 1 base, 2 mode, 3 id, 4 token, 5 name of the step, 6 its result.
-- Reply: 1. Codes: -1 no such job, -2 no lock, -6 locked with another token.
local key, token = B .. ARGV[3], ARGV[4]
if rc('EXISTS', key) == 0 then return -1 end
if token ~= '0' then
  local held = rc('GET', key .. ':lock')
  if not held then return -2 end
  if held ~= token then return -6 end
end
rc('HSET', key, 'gen:steps', '1', 'gen:step:' .. ARGV[5], ARGV[6])
return 1
