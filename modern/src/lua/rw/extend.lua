-- Extends the lease of the token, as a writer or as a reader.
-- KEYS[1] writer, KEYS[2] readers; ARGV[1] token, ARGV[2] lease in ms, from now.
-- Returns 1 if it was extended, 0 if the token does not hold.
if redis.replicate_commands then
  redis.replicate_commands()
end
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2])
end
local score = redis.call('zscore', KEYS[2], ARGV[1])
local time = redis.call('time')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
if not score or tonumber(score) <= now_ms then
  return 0
end
redis.call('zadd', KEYS[2], now_ms + ARGV[2], ARGV[1])
if redis.call('pttl', KEYS[2]) < tonumber(ARGV[2]) then
  redis.call('pexpire', KEYS[2], ARGV[2])
end
return 1
