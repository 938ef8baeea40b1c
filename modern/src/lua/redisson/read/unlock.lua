-- KEYS[1] lock, KEYS[2] channel, KEYS[3] what the keys of this reader's leases begin with, KEYS[4] what those of all
-- readers begin with, KEYS[5] latch of this release;
-- ARGV[1] message, ARGV[2] the owner as a reader, ARGV[3] PUBLISH or SPUBLISH, ARGV[4] the latch's time to live in ms.
-- Leaves once. nil not the owner's, 0 somebody still holds, 1 deleted and announced. The latch keeps the answer; where
-- there is no lock, it says 1.
local before = redis.call('get', KEYS[5])
if before then
  return tonumber(before)
end
local mode = redis.call('hget', KEYS[1], 'mode')
if not mode then
  redis.call(ARGV[3], KEYS[2], ARGV[1])
  redis.call('set', KEYS[5], 1, 'px', ARGV[4])
  return nil
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return nil
end
local left = redis.call('hincrby', KEYS[1], ARGV[2], -1)
if left == 0 then
  redis.call('hdel', KEYS[1], ARGV[2])
end
redis.call('del', KEYS[3] .. ':' .. (left + 1))
if redis.call('hlen', KEYS[1]) > 1 then
  -- Only as long as the longest lease of those who stay.
  local longest_ms = -3
  for _, field in ipairs(redis.call('hkeys', KEYS[1])) do
    local count = tonumber(redis.call('hget', KEYS[1], field)) or 0
    -- Nobody enters that often: a count that is none must not keep the server busy.
    for entry = math.min(count, 10000), 1, -1 do
      local lease_ms = redis.call('pttl', KEYS[4] .. ':' .. field .. ':rwlock_timeout:' .. entry)
      longest_ms = math.max(longest_ms, lease_ms)
    end
  end
  if longest_ms > 0 then
    redis.call('pexpire', KEYS[1], longest_ms)
  end
  if longest_ms > 0 or mode == 'write' then
    redis.call('set', KEYS[5], 0, 'px', ARGV[4])
    return 0
  end
end
redis.call('del', KEYS[1])
redis.call(ARGV[3], KEYS[2], ARGV[1])
redis.call('set', KEYS[5], 1, 'px', ARGV[4])
return 1
