-- KEYS[1] lock, ARGV[1] token, ARGV[2] lease in ms: lets the lock live that long from now if it holds the token.
-- 1 extended, 0 not ours.
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2])
else
  return 0
end
