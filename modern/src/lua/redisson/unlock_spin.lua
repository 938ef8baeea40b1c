-- KEYS[1] lock, KEYS[2] latch of this release; ARGV[1] lease in ms, ARGV[2] owner, ARGV[3] the latch's time to live in ms.
-- Leaves once, and tells nobody. nil not the owner's, 0 still the owner's, 1 deleted. The latch keeps the answer.
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
