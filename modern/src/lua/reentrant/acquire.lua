-- Enters if the lock is free or its owner's: counts the entry, and the lease begins anew.
-- KEYS[1] lock, a hash; ARGV[1] owner, ARGV[2] lease in seconds.
-- Returns 1 if the owner has entered, 0 if another owner holds.
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[1], 1)
  redis.call('expire', KEYS[1], ARGV[2])
  return 1
else
  return 0
end
