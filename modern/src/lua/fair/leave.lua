-- Deletes the lock if it holds the token, and leaves the queue. If the lock is then free, it wakes the first waiter
-- whose place has not expired.
-- KEYS[1] lock, KEYS[2] queue, KEYS[3] until when each place is kept; ARGV[1] token, ARGV[2] token:instance, ARGV[3]
-- publish or spublish, ARGV[4] prefix of the instances' channels.
-- Returns 1 if the token held the lock, 0 if not.
if redis.replicate_commands then
  redis.replicate_commands()
end
local held = 0
if redis.call('get', KEYS[1]) == ARGV[1] then
  held = redis.call('del', KEYS[1])
end
redis.call('zrem', KEYS[2], ARGV[2])
redis.call('zrem', KEYS[3], ARGV[2])
if redis.call('exists', KEYS[1]) == 1 then
  return held
end
local time = redis.call('time')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local first = redis.call('zrange', KEYS[2], 0, 0)[1]
while first do
  if tonumber(redis.call('zscore', KEYS[3], first) or 0) > now_ms then
    redis.call(ARGV[3], ARGV[4] .. string.sub(first, 34), string.sub(first, 1, 32))
    return held
  end
  redis.call('zrem', KEYS[2], first)
  redis.call('zrem', KEYS[3], first)
  first = redis.call('zrange', KEYS[2], 0, 0)[1]
end
return held
