-- Acquires the lock if it is free and no waiter is ahead. Otherwise takes a place at the end of the queue, or keeps its
-- place for longer. An attempt that runs a second time finds its own token, and its lease begins anew. A key of another
-- type fails here, before anything is written.
-- KEYS[1] lock, KEYS[2] queue, KEYS[3] until when each place is kept; ARGV[1] token, ARGV[2] token:instance, ARGV[3]
-- lease in ms, ARGV[4] how many ms after its notification the first waiter is passed over, ARGV[5] publish or spublish,
-- ARGV[6] prefix of the instances' channels.
-- Returns -1 if it was acquired, otherwise the ms until the next attempt.
if redis.replicate_commands then
  redis.replicate_commands()
end
local holder = redis.call('get', KEYS[1])
if holder == ARGV[1] then
  redis.call('pexpire', KEYS[1], ARGV[3])
  return -1
end
local is_free = not holder
local time = redis.call('time')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local first = redis.call('zrange', KEYS[2], 0, 0)[1]
local first_until
while first and first ~= ARGV[2] do
  first_until = tonumber(redis.call('zscore', KEYS[3], first) or 0)
  if first_until > now_ms then
    break
  end
  redis.call('zrem', KEYS[2], first)
  redis.call('zrem', KEYS[3], first)
  first = redis.call('zrange', KEYS[2], 0, 0)[1]
end
if is_free and (not first or first == ARGV[2]) then
  redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[3])
  if first then
    redis.call('zrem', KEYS[2], first)
    redis.call('zrem', KEYS[3], first)
  end
  return -1
end
if not redis.call('zscore', KEYS[2], ARGV[2]) then
  local last = redis.call('zrange', KEYS[2], -1, -1, 'withscores')
  redis.call('zadd', KEYS[2], (last[2] or 0) + 1, ARGV[2])
end
local kept_ms = 2 * ARGV[4]
redis.call('zadd', KEYS[3], now_ms + kept_ms, ARGV[2])
if redis.call('pttl', KEYS[3]) < kept_ms then
  redis.call('pexpire', KEYS[2], kept_ms)
  redis.call('pexpire', KEYS[3], kept_ms)
end
local wait_ms = math.floor(1.5 * ARGV[4])
if is_free then
  redis.call(ARGV[5], ARGV[6] .. string.sub(first, 34), string.sub(first, 1, 32))
  first_until = math.min(first_until, now_ms + ARGV[4])
  redis.call('zadd', KEYS[3], first_until, first)
  wait_ms = math.min(wait_ms, first_until - now_ms)
else
  local lease_ms = redis.call('pttl', KEYS[1])
  if lease_ms >= 0 then
    wait_ms = math.min(wait_ms, lease_ms)
  end
end
return math.max(wait_ms, 1)
