-- KEYS[1] holders, KEYS[2], if any, channel; ARGV[1] token, ARGV[2] publish or spublish.
-- Gives the permit up, and wakes one of those who wait. 1 it was held, 0 its lease had ended.
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
