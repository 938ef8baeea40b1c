-- Deletes the lock if it holds the token, and publishes the release, which wakes one waiter of each program.
-- KEYS[1] lock, KEYS[2] channel; ARGV[1] token, ARGV[2] publish or spublish.
-- Returns 1 if it was deleted, 0 if the lock is free or another owner's.
if redis.call('get', KEYS[1]) == ARGV[1] then
  redis.call('del', KEYS[1])
  redis.call(ARGV[2], KEYS[2], '0')
  return 1
else
  return 0
end
