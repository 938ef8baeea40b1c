-- KEYS[1] lock, ARGV[1] token, ARGV[2] Unix time in ms: lets the lock live until then if it holds the token. A moment
-- that has passed ends the lock. 1 done, 0 not ours.
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpireat', KEYS[1], ARGV[2])
else
  return 0
end
