-- KEYS[1] lock, KEYS[2] queue, KEYS[3] until when each in it is waited for, KEYS[4] what the channels of the waiters begin
-- with, KEYS[5] latch of this release;
-- ARGV[1] message, ARGV[2] lease in ms, ARGV[3] owner, ARGV[4] its clock in Unix ms, ARGV[5] PUBLISH or SPUBLISH,
-- ARGV[6] the latch's time to live in ms.
-- Leaves once. nil not the owner's, 0 still the owner's, 1 there is no lock any more, and whose turn it is has been told.
-- The latch keeps the answer.
local before = redis.call('get', KEYS[5])
if before then
  return tonumber(before)
end
local now = tonumber(ARGV[4])
local first = redis.call('lindex', KEYS[2], 0)
while first do
  local ends = redis.call('zscore', KEYS[3], first)
  if not ends or tonumber(ends) > now then
    break
  end
  redis.call('zrem', KEYS[3], first)
  redis.call('lpop', KEYS[2])
  first = redis.call('lindex', KEYS[2], 0)
end
if redis.call('exists', KEYS[1]) == 1 then
  if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
    return nil
  end
  if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
    redis.call('pexpire', KEYS[1], ARGV[2])
    redis.call('set', KEYS[5], 0, 'px', ARGV[6])
    return 0
  end
  redis.call('del', KEYS[1])
end
redis.call('set', KEYS[5], 1, 'px', ARGV[6])
if first then
  redis.call(ARGV[5], KEYS[4] .. ':' .. first, ARGV[1])
end
return 1
