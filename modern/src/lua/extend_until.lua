-- Extends the lease to a moment if the lock holds the token. A moment in the past ends the lock.
-- KEYS[1] lock; ARGV[1] token, ARGV[2] end of the lease as Unix time in ms.
-- Returns 1 if it was extended, 0 if the lock is free or another owner's.
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpireat', KEYS[1], ARGV[2])
else
  return 0
end
