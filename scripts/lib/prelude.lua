-- What every script begins with.
-- B is the base of the queue's keys, "<prefix>:<queue>:". MODE is '6', or '5' where 5.x peers pause and resume the queue.
local rc, B, MODE = redis.call, ARGV[1], ARGV[2]
-- Redis prints a Lua number with %.17g, and some versions print whole ones as 3e+08: numbers go out as decimal text.
local function int(n) return string.format('%.0f', n) end
