-- Enters as a writer if the lock is free, or again if the owner is the writer, which adds a lease to the remaining
-- time. A reader cannot become a writer.
-- KEYS[1] lock; ARGV[1] lease in ms, ARGV[2] the owner as a writer.
-- Returns nil if the owner has entered, otherwise the ms until the lease ends.
local mode = redis.call('hget', KEYS[1], 'mode')
if not mode then
  redis.call('hset', KEYS[1], 'mode', 'write')
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if mode == 'write' and redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], redis.call('pttl', KEYS[1]) + ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])
