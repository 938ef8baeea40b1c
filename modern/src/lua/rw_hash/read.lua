-- KEYS[1] lock hash; ARGV: TTL of the hash in ms, read lease in ms, write lease in ms, the client's clock in Unix ms.
-- 1 held, 0 a writer's stamp is not over.
local lockKey, timeout, writeExpTime, now = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[3]), tonumber(ARGV[4])
local writeValue = redis.call('HGET', lockKey, 'write')
local canGet = true
if writeValue then
  canGet = (now - tonumber(writeValue)) > writeExpTime
end
if canGet then
  redis.call('HSET', lockKey, 'read', now)
  redis.call('PEXPIRE', lockKey, timeout)
  return 1
else
  return 0
end
