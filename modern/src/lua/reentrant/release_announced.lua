-- Leaves once; with the last entry, deletes the lock and publishes the release, which wakes one waiter of each program.
-- KEYS[1] lock, a hash, KEYS[2] channel; ARGV[1] owner, ARGV[2] publish or spublish.
-- Returns nil if the owner does not hold, 1 if the lock was deleted, 0 if the owner still holds.
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return nil
elseif redis.call('hincrby', KEYS[1], ARGV[1], -1) == 0 then
  redis.call('del', KEYS[1])
  redis.call(ARGV[2], KEYS[2], '0')
  return 1
else
  return 0
end
