-- Leaves once; with the last entry, deletes the lock and publishes the release to the first waiter. The latch keeps the
-- reply.
-- KEYS[1] lock, KEYS[2] queue, KEYS[3] for each waiter until when the queue waits for it, KEYS[4] prefix of the
-- waiters' channels, KEYS[5] latch of this release; ARGV[1] message, ARGV[2] lease in ms, ARGV[3] owner, ARGV[4] the
-- client's clock in Unix ms, ARGV[5] PUBLISH or SPUBLISH, ARGV[6] TTL of the latch in ms.
-- Returns nil if the owner does not hold, 0 if the owner still holds, 1 if the lock was deleted or is missing.
local before = redis.call('get', KEYS[5])
if before then
  return tonumber(before)
end
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
if redis.call('exists', KEYS[1]) == 1 then
  if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
    return nil
  end
  if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
    redis.call('pexpire', KEYS[1], ARGV[2])
    redis.call('set', KEYS[5], 0, 'px', ARGV[6])
    return 0
  end
  redis.call('del', KEYS[1])
end
redis.call('set', KEYS[5], 1, 'px', ARGV[6])
if first then
  redis.call(ARGV[5], KEYS[4] .. ':' .. first, ARGV[1])
end
return 1
