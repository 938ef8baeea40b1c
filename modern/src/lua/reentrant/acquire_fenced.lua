-- KEYS[1] lock hash, KEYS[2] counter of fences; ARGV[1] owner, ARGV[2] lease in seconds.
-- Enters if the lock is free or the owner's, and counts every entry in the counter too. Answers that count, or 0.
if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return 0
end
local count = redis.call('incr', KEYS[2])
if count < 1 then
  redis.call('decr', KEYS[2])
  return redis.error_reply('NOFENCE the counter of this lock is below zero: something else has written it')
end
redis.call('hincrby', KEYS[1], ARGV[1], 1)
redis.call('expire', KEYS[1], ARGV[2])
return count
