-- KEYS[1] lock, ARGV[1] token: deletes the lock if it holds the token. 1 deleted, 0 not ours.
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
else
  return 0
end
