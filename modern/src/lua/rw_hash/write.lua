-- KEYS[1] lock hash; ARGV: TTL of the hash in ms, read lease in ms, write lease in ms, the client's clock in Unix ms.
-- 1 held, 0 a reader's or a writer's stamp is not over.
local lockKey, timeout = KEYS[1], tonumber(ARGV[1])
local readExpTime, writeExpTime, now = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local writeValue = redis.call('HGET', lockKey, 'write')
local writeOver = true
if writeValue then
  writeOver = (now - tonumber(writeValue)) > writeExpTime
end
local readValue = redis.call('HGET', lockKey, 'read')
local readOver = true
if readValue then
  readOver = (now - tonumber(readValue)) > readExpTime
end
if writeOver and readOver then
  redis.call('HSET', lockKey, 'write', now)
  redis.call('PEXPIRE', lockKey, timeout)
  return 1
else
  return 0
end
