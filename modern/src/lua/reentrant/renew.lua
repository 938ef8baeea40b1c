-- Extends the lease if the owner holds.
-- KEYS[1] lock, a hash; ARGV[1] owner, ARGV[2] lease in seconds, from now.
-- Returns 1 if it was extended, 0 if the owner does not hold.
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  return redis.call('expire', KEYS[1], ARGV[2])
else
  return 0
end
