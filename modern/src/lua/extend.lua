-- Extends the lease if the lock holds the token.
-- KEYS[1] lock; ARGV[1] token, ARGV[2] lease in ms, from now.
-- Returns 1 if it was extended, 0 if the lock is free or another owner's.
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2])
else
  return 0
end
