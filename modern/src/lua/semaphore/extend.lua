-- Extends the lease of the token's permit.
-- KEYS[1] holders; ARGV[1] token, ARGV[2] lease in ms, from now.
-- Returns 1 if it was extended, 0 if its lease has ended.
if redis.replicate_commands then
  redis.replicate_commands()
end
local time = redis.call('time')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local ends_ms = redis.call('zscore', KEYS[1], ARGV[1])
if not ends_ms or tonumber(ends_ms) <= now_ms then
  return 0
end
redis.call('zadd', KEYS[1], now_ms + ARGV[2], ARGV[1])
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('pexpire', KEYS[1], ARGV[2])
end
return 1
