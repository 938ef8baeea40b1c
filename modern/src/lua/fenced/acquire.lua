-- KEYS[1] lock, KEYS[2] counter; ARGV[1] token, ARGV[2] lease in ms.
-- Takes the lock if it is free, and counts. Answers the count, which grows with every acquisition, or 0.
if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then
  return redis.call('incr', KEYS[2])
else
  return 0
end
