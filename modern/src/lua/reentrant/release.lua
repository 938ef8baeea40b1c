-- KEYS[1] lock hash; ARGV[1] owner.
-- Leaves once, and deletes the lock if that was the last time. nil not the owner's, 1 deleted, 0 still the owner's.
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return nil
elseif redis.call('hincrby', KEYS[1], ARGV[1], -1) == 0 then
  redis.call('del', KEYS[1])
  return 1
else
  return 0
end
