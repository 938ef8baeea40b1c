-- KEYS[1] lock hash, KEYS[2] channel; ARGV[1] owner, ARGV[2] publish or spublish.
-- Leaves once; if that was the last time, deletes the lock and wakes one of those who wait. nil not the owner's, 1 deleted,
-- 0 still the owner's.
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return nil
elseif redis.call('hincrby', KEYS[1], ARGV[1], -1) == 0 then
  redis.call('del', KEYS[1])
  redis.call(ARGV[2], KEYS[2], '0')
  return 1
else
  return 0
end
