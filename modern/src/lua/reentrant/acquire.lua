-- KEYS[1] lock hash; ARGV[1] owner, ARGV[2] lease in seconds.
-- Enters if the lock is free or the owner's: counts, and lets it live for a whole lease. 1 entered, 0 somebody else's.
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[1], 1)
  redis.call('expire', KEYS[1], ARGV[2])
  return 1
else
  return 0
end
