-- Enters if the lock is its owner's, or if it is free and the owner is first in the queue. Otherwise the owner joins
-- the queue.
-- KEYS[1] lock, KEYS[2] queue, KEYS[3] for each waiter until when the queue waits for it; ARGV[1] lease in ms, ARGV[2]
-- owner, ARGV[3] waiting time in ms, ARGV[4] the client's clock in Unix ms, ARGV[5] the error for a second entry, if
-- the lock is not re-entrant.
-- Returns nil if the owner has entered, otherwise the ms until it may be its turn.
local now = tonumber(ARGV[4])
local first = redis.call('lindex', KEYS[2], 0)
while first do
  local ends = redis.call('zscore', KEYS[3], first)
  if not ends or tonumber(ends) > now then
    break
  end
  redis.call('zrem', KEYS[3], first)
  redis.call('lpop', KEYS[2])
  first = redis.call('lindex', KEYS[2], 0)
end
if redis.call('exists', KEYS[1]) == 0 then
  if redis.call('exists', KEYS[2]) == 0 or redis.call('lindex', KEYS[2], 0) == ARGV[2] then
    redis.call('lpop', KEYS[2])
    redis.call('zrem', KEYS[3], ARGV[2])
    for _, waiter in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
      redis.call('zincrby', KEYS[3], -tonumber(ARGV[3]), waiter)
    end
    redis.call('hset', KEYS[1], ARGV[2], 1)
    redis.call('pexpire', KEYS[1], ARGV[1])
    return nil
  end
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  if ARGV[5] then
    return redis.error_reply(ARGV[5])
  end
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if redis.call('zscore', KEYS[3], ARGV[2]) then
  return math.max(0, redis.call('pttl', KEYS[1]))
end
local last = redis.call('lindex', KEYS[2], -1)
local ends = last and last ~= ARGV[2] and redis.call('zscore', KEYS[3], last)
local wait_ms = ends and tonumber(ends) - now or redis.call('pttl', KEYS[1])
if redis.call('zadd', KEYS[3], wait_ms + tonumber(ARGV[3]) + now, ARGV[2]) == 1 then
  redis.call('rpush', KEYS[2], ARGV[2])
end
return wait_ms
