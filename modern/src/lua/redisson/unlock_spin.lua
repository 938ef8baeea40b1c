-- Leaves once; with the last entry, deletes the lock. Nothing is published. The latch keeps the reply.
-- KEYS[1] lock, KEYS[2] latch of this release; ARGV[1] lease in ms, ARGV[2] owner, ARGV[3] TTL of the latch in ms.
-- Returns nil if the owner does not hold, 0 if the owner still holds, 1 if the lock was deleted.
local before = redis.call('get', KEYS[2])
if before then
  return tonumber(before)
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[2], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[1])
  redis.call('set', KEYS[2], 0, 'px', ARGV[3])
  return 0
end
redis.call('del', KEYS[1])
redis.call('set', KEYS[2], 1, 'px', ARGV[3])
return 1
