-- Acquires as a writer unless the stamp of a reader or a writer is younger than its lease.
-- KEYS[1] lock, a hash; ARGV[1] TTL of the hash in ms, ARGV[2] read lease in ms, ARGV[3] write lease in ms, ARGV[4] the
-- client's clock in Unix ms.
-- Returns 1 if it was acquired, 0 if a reader's or a writer's stamp has not expired.
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
