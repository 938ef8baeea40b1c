-- Leaves once as a reader. If no other client holds, it deletes the lock and publishes the release. The latch keeps the
-- reply; if the lock is missing it keeps 1.
-- KEYS[1] lock, KEYS[2] channel, KEYS[3] prefix of this reader's lease keys, KEYS[4] prefix of all lease keys,
-- KEYS[5] latch of this release; ARGV[1] message, ARGV[2] the owner as a reader, ARGV[3] PUBLISH or SPUBLISH, ARGV[4]
-- TTL of the latch in ms.
-- Returns nil if the owner does not hold, 0 if an owner still holds, 1 if the lock was deleted.
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
  -- The lock lives as long as the longest lease of the remaining readers.
  local longest_ms = -3
  for _, field in ipairs(redis.call('hkeys', KEYS[1])) do
    local count = tonumber(redis.call('hget', KEYS[1], field)) or 0
    -- No owner enters that often: an invalid count must not keep the server busy.
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
