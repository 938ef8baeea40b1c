-- KEYS[1] lock hash; ARGV[1] owner, ARGV[2] lease in seconds: lets the lock live that long from now. 1 done, 0 not ours.
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  return redis.call('expire', KEYS[1], ARGV[2])
else
  return 0
end
