-- KEYS[1] lock, ARGV[1] its value as we wrote it, ARGV[2] the value to write, ARGV[3] how long the key shall live in ms,
-- ARGV[4] 1 if this dialect gives its keys a TTL. A TTL is given where the dialect does so and where the key has one:
-- the stamp must not outlive its key. 1 extended, 0 not ours.
if redis.call('get', KEYS[1]) ~= ARGV[1] then
  return 0
end
local expires = ARGV[4] == '1' or redis.call('pttl', KEYS[1]) >= 0
redis.call('set', KEYS[1], ARGV[2])
if expires then
  redis.call('pexpire', KEYS[1], ARGV[3])
end
return 1
