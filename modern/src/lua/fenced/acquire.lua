-- Acquires the lock if it is free, and issues the next fence. An attempt that runs a second time finds its own token:
-- the reply is the same fence, and the lease begins anew.
-- KEYS[1] lock, KEYS[2] counter of fences; ARGV[1] token, ARGV[2] lease in ms.
-- Returns the fence, or 0 if the lock is held.
if redis.call('exists', KEYS[1]) == 1 then
  if redis.pcall('get', KEYS[1]) ~= ARGV[1] then
    return 0
  end
  redis.call('pexpire', KEYS[1], ARGV[2])
  return tonumber(redis.call('get', KEYS[2]))
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
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
return fence
