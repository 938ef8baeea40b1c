-- Enters if the lock is free or its owner's.
-- KEYS[1] lock; ARGV[1] lease in ms, ARGV[2] owner, ARGV[3] the error for a second entry, if the lock is not
-- re-entrant.
-- Returns nil if the owner has entered, otherwise the ms until the lease ends, -1 if the lock has no TTL.
local free = redis.call('exists', KEYS[1]) == 0
if not free and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return redis.call('pttl', KEYS[1])
end
if ARGV[3] and not free then
  return redis.error_reply(ARGV[3])
end
redis.call('hincrby', KEYS[1], ARGV[2], 1)
redis.call('pexpire', KEYS[1], ARGV[1])
return nil
