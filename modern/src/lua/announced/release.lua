-- KEYS[1] lock, KEYS[2] channel; ARGV[1] token, ARGV[2] publish or spublish.
-- Deletes the lock if it holds the token, and wakes one of those who wait. 1 deleted, 0 not ours.
if redis.call('get', KEYS[1]) == ARGV[1] then
  redis.call('del', KEYS[1])
  redis.call(ARGV[2], KEYS[2], '0')
  return 1
else
  return 0
end
