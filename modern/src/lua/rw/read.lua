-- Joins the readers, with a lease of its own, unless a writer holds or waits. An attempt that runs a second time finds
-- itself among the readers, and its lease begins anew.
-- KEYS[1] writer, KEYS[2] readers, KEYS[3] waiting writer; ARGV[1] token, ARGV[2] lease in ms.
-- Returns -1 if it was acquired, otherwise the ms after which the next attempt may succeed.
if redis.replicate_commands then
  redis.replicate_commands()
end
local time = redis.call('time')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local ends_ms = redis.call('zscore', KEYS[2], ARGV[1])
if not ends_ms or tonumber(ends_ms) <= now_ms then
  local waits = math.max(redis.call('pttl', KEYS[1]), redis.call('pttl', KEYS[3]))
  if redis.call('exists', KEYS[1]) + redis.call('exists', KEYS[3]) > 0 then
    return math.max(waits, 1)
  end
end
redis.call('zremrangebyscore', KEYS[2], '-inf', now_ms)
redis.call('zadd', KEYS[2], now_ms + ARGV[2], ARGV[1])
if redis.call('pttl', KEYS[2]) < tonumber(ARGV[2]) then
  redis.call('pexpire', KEYS[2], ARGV[2])
end
return -1
