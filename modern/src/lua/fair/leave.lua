-- Deletes the lock if it holds the token, otherwise leaves the queue. If the lock is then free, the first waiter whose place
-- has not expired is woken, and its place is kept for no longer than it needs to come. If it listens, and has tried not
-- long ago, it has the lock at once: for a lease, and for as long again as has passed since its attempt, a quarter of a
-- lease at most, so that a lease is left of what it counts from that attempt. It learns that from its message, token:ms.
-- KEYS[1] lock, KEYS[2] queue, KEYS[3] until when each place is kept; ARGV[1] token, ARGV[2] token:instance, ARGV[3] how
-- many ms after its notification the first waiter is passed over, ARGV[4] publish or spublish, ARGV[5] prefix of the
-- instances' channels, ARGV[6] lease in ms.
-- Returns 1 if the token held the lock, 0 if not.
if redis.replicate_commands then
  redis.replicate_commands()
end
local held = 0
local holder = redis.call('get', KEYS[1])
if holder == ARGV[1] then
  held = redis.call('del', KEYS[1])
else
  redis.call('zrem', KEYS[2], ARGV[2])
  redis.call('zrem', KEYS[3], ARGV[2])
  if holder then
    return held
  end
end
local time = redis.call('time')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local count = ARGV[4] == 'SPUBLISH' and 'shardnumsub' or 'numsub'
local first = redis.call('zrange', KEYS[2], 0, 0)[1]
while first do
  local first_until = tonumber(redis.call('zscore', KEYS[3], first) or 0)
  if first_until > now_ms then
    local token, channel = string.sub(first, 1, 32), ARGV[5] .. string.sub(first, 34)
    local waited_ms = math.max(now_ms - first_until + 2 * ARGV[3], 0)
    -- Nobody listens where the server does not say it.
    local listeners = redis.pcall('pubsub', count, channel)[2] or 0
    if listeners > 0 and waited_ms <= math.min(1.75 * ARGV[3], ARGV[6] / 4) then
      local granted_ms = string.format('%d', ARGV[6] + waited_ms)
      -- Fails where the server is out of memory.
      if redis.pcall('set', KEYS[1], token, 'px', granted_ms).ok then
        redis.call('zrem', KEYS[2], first)
        redis.call('zrem', KEYS[3], first)
        redis.call(ARGV[4], channel, token .. ':' .. granted_ms)
        return held
      end
    end
    redis.call('zadd', KEYS[3], math.min(first_until, now_ms + ARGV[3]), first)
    redis.call(ARGV[4], channel, token)
    return held
  end
  redis.call('zrem', KEYS[2], first)
  redis.call('zrem', KEYS[3], first)
  first = redis.call('zrange', KEYS[2], 0, 0)[1]
end
return held
