-- Acquires as a reader unless the stamp of a writer is younger than its lease. It stores only the latest reader's
-- stamp.
-- KEYS[1] lock, a hash; ARGV[1] TTL of the hash in ms, ARGV[2] read lease in ms, ARGV[3] write lease in ms, ARGV[4] the
-- client's clock in Unix ms.
-- Returns 1 if it was acquired, 0 if a writer's stamp has not expired.
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
