-- Writes the next value if the lock still holds the one that this client wrote. It sets a TTL where the dialect does so
-- and where the key has one, because the stamp must not outlive its key.
-- KEYS[1] lock; ARGV[1] value as written, ARGV[2] next value, ARGV[3] TTL in ms, ARGV[4] 1 if the dialect sets a TTL.
-- Returns 1 if it was extended, 0 if the lock is free or another owner's.
if redis.call('get', KEYS[1]) ~= ARGV[1] then
  return 0
end
local expires = ARGV[4] == '1' or redis.call('pttl', KEYS[1]) >= 0
redis.call('set', KEYS[1], ARGV[2])
if expires then
  redis.call('pexpire', KEYS[1], ARGV[3])
end
return 1
