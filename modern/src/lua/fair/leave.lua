-- Deletes the lock if it holds the token, otherwise leaves the queue. If the lock is then free, it wakes the first waiter
-- whose place has not expired, and keeps that place for no longer than the waiter needs to come.
-- KEYS[1] lock, KEYS[2] queue, KEYS[3] until when each place is kept; ARGV[1] token, ARGV[2] token:instance, ARGV[3] how
-- many ms after its notification the first waiter is passed over, ARGV[4] publish or spublish, ARGV[5] prefix of the
-- instances' channels.
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
local first = redis.call('zrange', KEYS[2], 0, 0)[1]
while first do
  local first_until = tonumber(redis.call('zscore', KEYS[3], first) or 0)
  if first_until > now_ms then
    redis.call(ARGV[4], ARGV[5] .. string.sub(first, 34), string.sub(first, 1, 32))
    redis.call('zadd', KEYS[3], math.min(first_until, now_ms + ARGV[3]), first)
    return held
  end
  redis.call('zrem', KEYS[2], first)
  redis.call('zrem', KEYS[3], first)
  first = redis.call('zrange', KEYS[2], 0, 0)[1]
end
return held
