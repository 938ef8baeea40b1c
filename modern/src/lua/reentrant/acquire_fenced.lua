-- Enters if the lock is free or its owner's: counts the entry, issues the next fence, and the lease begins anew.
-- KEYS[1] lock, a hash, KEYS[2] counter of fences; ARGV[1] owner, ARGV[2] lease in seconds.
-- Returns the fence, or 0 if another owner holds.
if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return 0
end
-- The next fence is above the last one and not below the server's clock in microseconds, so that a counter that is
-- deleted, or restored from an older copy, does not issue a fence twice. Checked before anything is written.
local counted = redis.call('get', KEYS[2]) or '0'
if not string.find(counted, '^%d+$') or tonumber(counted) >= 9007199254740991 then
  return redis.error_reply('NOFENCE the counter of this lock is not a count below 2^53: something else has written it')
end
if redis.replicate_commands then
  redis.replicate_commands()
end
local time = redis.call('time')
local fence = math.max(counted + 1, time[1] * 1000000 + time[2])
redis.call('set', KEYS[2], string.format('%.0f', fence))
redis.call('hincrby', KEYS[1], ARGV[1], 1)
redis.call('expire', KEYS[1], ARGV[2])
return fence
