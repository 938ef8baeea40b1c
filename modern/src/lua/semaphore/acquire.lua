-- Acquires a permit if one is free. An attempt that runs a second time finds its own permit, and its lease begins anew.
-- KEYS[1] holders, a sorted set of tokens by the server's ms at which their leases end; ARGV[1] token, ARGV[2] lease in
-- ms, ARGV[3] number of permits.
-- Returns -1 if it was acquired, otherwise the ms until the first lease ends.
if redis.replicate_commands then
  redis.replicate_commands()
end
local time = redis.call('time')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('zremrangebyscore', KEYS[1], '-inf', now_ms)
if not redis.call('zscore', KEYS[1], ARGV[1]) and redis.call('zcard', KEYS[1]) >= tonumber(ARGV[3]) then
  local first = redis.call('zrange', KEYS[1], 0, 0, 'withscores')
  return math.max(first[2] - now_ms, 1)
end
redis.call('zadd', KEYS[1], now_ms + ARGV[2], ARGV[1])
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('pexpire', KEYS[1], ARGV[2])
end
return -1
