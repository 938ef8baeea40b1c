-- Leaves once; with the last entry, deletes the lock and publishes the release. The latch keeps the reply, so that the
-- same release, sent again, does not leave twice.
-- KEYS[1] lock, KEYS[2] channel, KEYS[3] latch of this release; ARGV[1] message, ARGV[2] lease in ms, ARGV[3] owner,
-- ARGV[4] PUBLISH or SPUBLISH, ARGV[5] TTL of the latch in ms.
-- Returns nil if the owner does not hold, 0 if the owner still holds, 1 if the lock was deleted.
local before = redis.call('get', KEYS[3])
if before then
  return tonumber(before)
end
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  redis.call('set', KEYS[3], 0, 'px', ARGV[5])
  return 0
end
redis.call('del', KEYS[1])
redis.call(ARGV[4], KEYS[2], ARGV[1])
redis.call('set', KEYS[3], 1, 'px', ARGV[5])
return 1
