-- Enters if the lock is free or its owner's, and issues a fence for each entry.
-- KEYS[1] lock, KEYS[2] counter of fences; ARGV[1] lease in ms, ARGV[2] owner.
-- Returns {-1, fence} if the owner has entered, otherwise {ms until the lease ends, -1}.
if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return {redis.call('pttl', KEYS[1]), -1}
end
local count = redis.call('incr', KEYS[2])
redis.call('hincrby', KEYS[1], ARGV[2], 1)
redis.call('pexpire', KEYS[1], ARGV[1])
return {-1, count}
