-- Leaves once, and deletes the lock with the last entry.
-- KEYS[1] lock, a hash; ARGV[1] owner.
-- Returns nil if the owner does not hold, 1 if the lock was deleted, 0 if the owner still holds.
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return nil
elseif redis.call('hincrby', KEYS[1], ARGV[1], -1) == 0 then
  redis.call('del', KEYS[1])
  return 1
else
  return 0
end
