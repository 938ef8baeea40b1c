-- KEYS[1] lock; ARGV[1] lease in ms, ARGV[2] owner; ARGV[3], where nobody may enter twice, what to say to who does.
-- Enters if the lock is free or the owner's. Answers nil, or the ms until its lease ends (-1: it has none).
local free = redis.call('exists', KEYS[1]) == 0
if not free and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return redis.call('pttl', KEYS[1])
end
if ARGV[3] and not free then
  return redis.error_reply(ARGV[3])
end
redis.call('hincrby', KEYS[1], ARGV[2], 1)
redis.call('pexpire', KEYS[1], ARGV[1])
return nil
