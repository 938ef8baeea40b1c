-- Removes the stamp of one side if it is still the one that this client wrote.
-- KEYS[1] lock, a hash; ARGV[1] read or write, ARGV[2] the stamp.
-- Returns 1 if it was removed, 0 if it is missing or another client's.
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then
  return redis.call('HDEL', KEYS[1], ARGV[1])
else
  return 0
end
