-- Returns the permit, and publishes that if there is a channel, which wakes one waiter of each program.
-- KEYS[1] holders, KEYS[2] channel, if releases are published; ARGV[1] token, ARGV[2] publish or spublish.
-- Returns 1 if its lease was running, 0 if it had ended.
local ends_ms = redis.call('zscore', KEYS[1], ARGV[1])
if not ends_ms then
  return 0
end
redis.call('zrem', KEYS[1], ARGV[1])
if KEYS[2] then
  redis.call(ARGV[2], KEYS[2], '0')
end
local time = redis.call('time')
return tonumber(ends_ms) > time[1] * 1000 + math.floor(time[2] / 1000) and 1 or 0
