-- KEYS[1] lock, KEYS[2] counter; ARGV[1] token, ARGV[2] lease in ms.
-- Takes the lock if it is free, and counts. Answers the count, which grows with every acquisition, or 0. It counts first,
-- so that a counter which is none leaves no lock behind.
if redis.call('exists', KEYS[1]) == 1 then
  return 0
end
local count = redis.call('incr', KEYS[2])
if count < 1 then
  redis.call('decr', KEYS[2])
  return redis.error_reply('NOFENCE the counter of this lock is below zero: something else has written it')
end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
return count
